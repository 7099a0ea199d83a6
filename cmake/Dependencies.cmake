# Libraries of pinned versions: from the system or the cache folder if they are there, otherwise from upstream, where a hash
# names what a tag could be moved away from.
include(FetchContent)
include(CacheFolder)

# Offers a folder to FetchContent in place of a download.
function(use_folder name folder)
    if(EXISTS ${folder} AND NOT FETCHCONTENT_SOURCE_DIR_${name})
        set(FETCHCONTENT_SOURCE_DIR_${name} ${folder} CACHE PATH "")
    endif()
endfunction()

# fetch(NAME ARGS...) sets NAME_SOURCE_DIR. The library's own build files are not run.
macro(fetch name)
    FetchContent_Declare(${name} ${ARGN} SOURCE_SUBDIR none)
    FetchContent_MakeAvailable(${name})
endmacro()

# header_library(TARGET FOLDER)
function(header_library target folder)
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} INTERFACE ${folder})
endfunction()

# Eigen 3.4
if(EXISTS /usr/include/eigen3/Eigen/Core)
    header_library(Eigen3::Eigen /usr/include/eigen3)
else()
    fetch(eigen GIT_REPOSITORY https://gitlab.com/libeigen/eigen.git
        GIT_TAG 3147391d946bb4b6c68edd901f2add6ac1f31f8c)  # 3.4.0
    header_library(Eigen3::Eigen ${eigen_SOURCE_DIR})
endif()

# nlohmann/json 3.11. Its system headers get a folder of their own, because /usr/include as a whole would bring the
# system's C library into the WebAssembly build. Everywhere, errors are values and never exceptions.
if(EXISTS /usr/include/nlohmann/json.hpp)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
    file(CREATE_LINK /usr/include/nlohmann ${CMAKE_BINARY_DIR}/include/nlohmann SYMBOLIC)
    header_library(nlohmann_json::nlohmann_json ${CMAKE_BINARY_DIR}/include)
else()
    fetch(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git
        GIT_TAG 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03)  # v3.11.3
    header_library(nlohmann_json::nlohmann_json ${nlohmann_json_SOURCE_DIR}/include)
endif()
target_compile_definitions(nlohmann_json::nlohmann_json INTERFACE JSON_NOEXCEPTION)

# zlib 1.3.1 inflates and deflates. It is compiled as C++, which it nearly is; that spares the project a second language. Its
# functions have names of their own (z_inflate), for the installed core may be linked beside another zlib.
use_folder(ZLIB ${ATTN_CACHE}/zlib-1.3.1)
fetch(zlib GIT_REPOSITORY https://github.com/madler/zlib.git
    GIT_TAG 51b7f2abdade71cd9bb0e7a373ef2610ec6f9daf)  # v1.3.1
set(zlib adler32.c crc32.c deflate.c inffast.c inflate.c inftrees.c trees.c uncompr.c zutil.c)
list(TRANSFORM zlib PREPEND ${zlib_SOURCE_DIR}/)
set_source_files_properties(${zlib} PROPERTIES LANGUAGE CXX)
add_library(zlib_core STATIC ${zlib})
target_include_directories(zlib_core SYSTEM PUBLIC ${zlib_SOURCE_DIR})
target_compile_definitions(zlib_core PRIVATE NO_GZIP register= PUBLIC ZLIB_CONST Z_PREFIX)
target_compile_options(zlib_core PRIVATE -O2)
set_target_properties(zlib_core PROPERTIES UNITY_BUILD OFF)

# Catch2 as its single amalgamated file, which compiles ten times as fast as the many.
use_folder(CATCH2 ${ATTN_CACHE}/catch2-3.7.1)
fetch(catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2.git
    GIT_TAG fa43b77429ba76c462b1898d6cd2f2d7a9416b14)  # v3.7.1
add_library(catch2_amalgamated STATIC EXCLUDE_FROM_ALL ${catch2_SOURCE_DIR}/extras/catch_amalgamated.cpp)
target_include_directories(catch2_amalgamated SYSTEM PUBLIC ${catch2_SOURCE_DIR}/extras)
target_compile_options(catch2_amalgamated PRIVATE -O0)  # like the tests, whose precompiled header it makes
unwatched(catch2_amalgamated)
target_link_libraries(catch2_amalgamated PRIVATE nlohmann_json::nlohmann_json)
target_precompile_headers(catch2_amalgamated PRIVATE <catch_amalgamated.hpp> <nlohmann/json.hpp>)

# Dear ImGui. The tests draw with it too, natively, without a picture; its backends are for the page alone.
use_folder(IMGUI ${ATTN_CACHE}/imgui-1.92.2b)
fetch(imgui GIT_REPOSITORY https://github.com/ocornut/imgui.git
    GIT_TAG 45acd5e0e82f4c954432533ae9985ff0e1aad6d5)  # v1.92.2b
add_library(imgui STATIC EXCLUDE_FROM_ALL
    ${imgui_SOURCE_DIR}/imgui.cpp ${imgui_SOURCE_DIR}/imgui_draw.cpp
    ${imgui_SOURCE_DIR}/imgui_tables.cpp ${imgui_SOURCE_DIR}/imgui_widgets.cpp)
target_include_directories(imgui SYSTEM PUBLIC ${imgui_SOURCE_DIR})
target_compile_definitions(imgui PUBLIC IMGUI_USER_CONFIG="${PROJECT_SOURCE_DIR}/cmake/imgui_config.h")
unwatched(imgui)
target_link_libraries(imgui PRIVATE shipping_options)
set_target_properties(imgui PROPERTIES UNITY_BUILD OFF)

if(EMSCRIPTEN)
    target_compile_options(catch2_amalgamated PUBLIC -fwasm-exceptions)

    set(backends ${imgui_SOURCE_DIR}/backends)
    add_library(imgui_backends STATIC ${backends}/imgui_impl_glfw.cpp ${backends}/imgui_impl_opengl3.cpp)
    target_include_directories(imgui_backends SYSTEM PUBLIC ${backends})
    target_compile_definitions(imgui_backends
        PUBLIC IMGUI_IMPL_OPENGL_ES3
        PRIVATE glGetIntegerv=attn_get_integerv)  # web/render/context.cpp says why
    target_link_libraries(imgui_backends PUBLIC imgui PRIVATE shipping_options)
    set_target_properties(imgui_backends PROPERTIES UNITY_BUILD OFF)
endif()
