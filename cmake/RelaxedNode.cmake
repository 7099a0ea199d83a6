# Runs the relaxed SIMD tests under a node that knows it: the system's, the system's with its flag, or the
# one of tests/node (npm ci there). If there is none the tests run, and fail, under the system's.
file(GLOB fetched ${PROJECT_SOURCE_DIR}/tests/node/node_modules/node-linux-*/bin/node)
set(plain ${CMAKE_CROSSCOMPILING_EMULATOR})
foreach(emulator IN ITEMS "${plain}" "${plain};--experimental-wasm-relaxed-simd" "${fetched}")
    execute_process(COMMAND ${emulator} ${PROJECT_SOURCE_DIR}/tools/lib/relaxed_node.mjs
        RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(result EQUAL 0)
        set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator})
        return()
    endif()
endforeach()
message(WARNING "No node here runs relaxed SIMD: run npm ci in tests/node.")
