# Finds Emscripten, 3.1.60 or later: in $EMSDK, then emcc on PATH, then where Debian puts it, then the copy that
# tools/serve and tools/test keep on Debian 12.
include(${CMAKE_CURRENT_LIST_DIR}/CacheFolder.cmake)

find_program(emcc emcc NO_CACHE)
if(emcc)
    file(REAL_PATH ${emcc} emcc)
    get_filename_component(emcc_folder ${emcc} DIRECTORY)
endif()
foreach(folder IN ITEMS
        "$ENV{EMSDK}/upstream/emscripten" "${emcc_folder}" /usr/share/emscripten
        "${ATTN_CACHE}/emscripten-3.1.69/usr/share/emscripten")
    set(platform ${folder}/cmake/Modules/Platform/Emscripten.cmake)
    if(EXISTS ${platform})
        file(STRINGS ${folder}/emscripten-version.txt version LIMIT_COUNT 1 REGEX "[0-9]")
        string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version ${version})
        if(version VERSION_GREATER_EQUAL 3.1.60)
            include(${platform})
            return()
        endif()
    endif()
endforeach()
message(FATAL_ERROR "Emscripten 3.1.60 or later was not found: "
    "run tools/serve, or install emsdk and put emcc on PATH.")
