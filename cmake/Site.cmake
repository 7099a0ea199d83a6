# The target `site` puts the page and everything that it loads into build/site, a plain folder
# that any host can serve.
set(shell ${PROJECT_SOURCE_DIR}/web/shell)
set(tokenizers ${shell}/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs)
add_custom_command(OUTPUT ${tokenizers}
    COMMAND npm ci --no-audit --no-fund --ignore-scripts
    WORKING_DIRECTORY ${shell}
    DEPENDS ${shell}/package-lock.json
    COMMENT "Fetching the page's tokenizer library")

list(TRANSFORM ATTN_VARIANTS PREPEND explorer- OUTPUT_VARIABLE programs)
list(TRANSFORM programs REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE program_files)
add_custom_target(site ALL
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DSITE=${PROJECT_SOURCE_DIR}/build/site
        "-DPROGRAMS=${program_files}" -DTOKENIZERS=${tokenizers} "-DFONTS=${ATTN_FONTS}"
        -P ${CMAKE_CURRENT_LIST_DIR}/AssembleSite.cmake
    DEPENDS ${programs} ${tokenizers}
    VERBATIM)
