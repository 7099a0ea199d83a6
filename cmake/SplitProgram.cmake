# split_program(TARGET FUNCTIONS) splits a linked program in two: TARGET.wasm keeps the functions that the file names, and TARGET.rest.wasm
# gets the others, which the page fetches after its first picture. TARGET.whole.wasm is the program as it was linked.
execute_process(COMMAND ${EMSCRIPTEN_ROOT_PATH}/em-config BINARYEN_ROOT
    OUTPUT_VARIABLE binaryen OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_program(ATTN_WASM_SPLIT wasm-split PATHS ${binaryen}/bin NO_DEFAULT_PATH REQUIRED)

function(split_program target functions)
    set(script ${PROJECT_SOURCE_DIR}/tools/lib/split_program.mjs)
    set(program $<TARGET_FILE_DIR:${target}>/${target})
    add_custom_command(TARGET ${target} POST_BUILD
        COMMAND node ${script} ${program} ${functions} ${ATTN_WASM_SPLIT}
        VERBATIM)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS
        ${functions} ${script} ${PROJECT_SOURCE_DIR}/tools/lib/function_names.mjs)
endfunction()
