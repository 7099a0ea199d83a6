# The target `site`: puts this build of the page and everything it loads into build/site, a plain folder
# that any host can serve. Both WebAssembly builds add their variant to the same folder.
set(shell ${PROJECT_SOURCE_DIR}/web/shell)
set(tokenizers ${shell}/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs)
add_custom_command(OUTPUT ${tokenizers}
    COMMAND npm ci --no-audit --no-fund --ignore-scripts
    WORKING_DIRECTORY ${shell}
    DEPENDS ${shell}/package-lock.json
    COMMENT "Fetching the page's tokenizer library")

add_custom_target(site ALL
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DSITE=${PROJECT_SOURCE_DIR}/build/site
        -DPROGRAM=$<TARGET_FILE:explorer> -DTOKENIZERS=${tokenizers} "-DFONTS=${ATTN_FONTS}"
        -P ${CMAKE_CURRENT_LIST_DIR}/AssembleSite.cmake
    DEPENDS explorer ${tokenizers}
    VERBATIM)
