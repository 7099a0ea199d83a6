# The target `site` puts the page and everything that it loads into build/site, a plain folder
# that any host can serve.
set(shell ${PROJECT_SOURCE_DIR}/web/shell)
set(tokenizers ${shell}/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs)
set(esbuild ${shell}/node_modules/esbuild/bin/esbuild)
add_custom_command(OUTPUT ${tokenizers} ${esbuild}
    COMMAND npm ci --no-audit --no-fund --ignore-scripts
    WORKING_DIRECTORY ${shell}
    DEPENDS ${shell}/package-lock.json
    COMMENT "Fetching the page's tokenizer library and esbuild")

# The page's modules come as one file, and those of each worker: each file more is a round trip before the page starts.
set(entries main.js one_file_start.js kept_worker.js offline_worker.js tokenizer_worker.js)
list(TRANSFORM entries PREPEND ${CMAKE_CURRENT_BINARY_DIR}/shell/ OUTPUT_VARIABLE scripts)
file(GLOB modules CONFIGURE_DEPENDS ${shell}/*.js)
add_custom_command(OUTPUT ${scripts}
    COMMAND ${esbuild} ${entries} --bundle --minify --format=esm --target=es2022 --external:./tokenizers.min.mjs
        --outdir=${CMAKE_CURRENT_BINARY_DIR}/shell --log-level=warning
    WORKING_DIRECTORY ${shell}
    DEPENDS ${modules} ${esbuild}
    COMMENT "Bundling the page's modules"
    VERBATIM)

list(TRANSFORM ATTN_VARIANTS PREPEND explorer- OUTPUT_VARIABLE programs)
list(TRANSFORM programs REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE program_files)
add_custom_target(site ALL
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DSITE=${PROJECT_SOURCE_DIR}/build/site
        -DVERSION=${PROJECT_VERSION} "-DPROGRAMS=${program_files}" "-DSCRIPTS=${scripts};${tokenizers}" "-DFONTS=${ATTN_FONTS}"
        -P ${CMAKE_CURRENT_LIST_DIR}/AssembleSite.cmake
    COMMAND node ${PROJECT_SOURCE_DIR}/tools/lib/compress.mjs ${PROJECT_SOURCE_DIR}/build/site
    DEPENDS ${programs} ${scripts} ${tokenizers}
    VERBATIM)
