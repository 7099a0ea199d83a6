# relaxed_node is a node that supports relaxed SIMD: the system's, the system's with its flag, or the one of
# tests/node (run npm ci there). If there is none, the tests of relaxed SIMD run, and fail, under the system's.
file(GLOB fetched ${PROJECT_SOURCE_DIR}/tests/node/node_modules/node-linux-*/bin/node)
set(relaxed_node ${CMAKE_CROSSCOMPILING_EMULATOR})
foreach(emulator IN ITEMS "${relaxed_node}" "${relaxed_node};--experimental-wasm-relaxed-simd" "${fetched}")
    execute_process(COMMAND ${emulator} ${PROJECT_SOURCE_DIR}/tools/lib/relaxed_node.mjs
        RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(result EQUAL 0)
        set(relaxed_node ${emulator})
        return()
    endif()
endforeach()
message(WARNING "No node here runs relaxed SIMD: run npm ci in tests/node.")
