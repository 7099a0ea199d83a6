# Options that all targets share, and the target `project_warnings`.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# The operations and their order must not depend on the compiler: a multiply and an add are fused only where a kernel
# says so. Nobody needs errno from functions of <cmath>, and without it square roots can be vectorised.
add_compile_options(-ffp-contract=off -fno-math-errno)

if(EMSCRIPTEN)
    # Every browser that has SIMD and WebGL2 has atomic instructions, and accepts them on memory that is not shared:
    # programs with and without threads are linked from the same objects.
    add_compile_options(-msimd128 -mbulk-memory -mnontrapping-fptoint -pthread)
    include(RelaxedNode)
endif()

if(ATTN_SANITIZE OR ATTN_FUZZ)
    # vptr needs type information, which is not built into what ships.
    set(sanitizers -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all)
    add_compile_options(${sanitizers} -fno-omit-frame-pointer)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        add_compile_options(-fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/undefined_elsewhere.txt)
    endif()
    add_compile_definitions(_GLIBCXX_ASSERTIONS)
    add_link_options(${sanitizers})
endif()
# The sanitizers watch what ships; other code is faster to compile and to run without them and their line numbers.
function(unwatched target)
    if(ATTN_SANITIZE)
        target_compile_options(${target} PRIVATE -fno-sanitize=all -g0)
    endif()
endfunction()
if(ATTN_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

add_library(project_warnings INTERFACE)
target_compile_options(project_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC takes a std::string's insert for a copy onto itself (GCC bug 105651), an empty std::optional for a value
    # that is read (80635), and a std::vector's growth for a write past its end (107852).
    target_compile_options(project_warnings INTERFACE
        -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow)
endif()
if(EMSCRIPTEN)
    # EM_JS and EM_ASM need these extensions.
    target_compile_options(project_warnings INTERFACE
        -Wno-dollar-in-identifier-extension -Wno-gnu-zero-variadic-macro-arguments)
endif()

# What ships is built without exceptions and run-time type information; tests have both.
add_library(shipping_options INTERFACE)
target_compile_options(shipping_options INTERFACE -fno-exceptions -fno-rtti)

# Headers that many files include are parsed once, which halves the time that a small file takes. Every file still
# includes what it uses, and GCC builds without this.
set(common_headers
    <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <nlohmann/json.hpp> <optional>
    <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
function(precompile_common_headers target)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        target_precompile_headers(${target} PRIVATE ${common_headers} ${ARGN})
    endif()
endfunction()

# precompiled_as(TARGET OTHER) uses the headers of another target, whose compile options must be the same.
function(precompiled_as target other)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        target_precompile_headers(${target} REUSE_FROM ${other})
    endif()
endfunction()

# With CMAKE_UNITY_BUILD, up to twenty files of a room are compiled as one. So names local to a file must be unique
# within its room, and a new file only changes the batches of its own room.
function(batch_by_room target)
    get_target_property(files ${target} SOURCES)
    foreach(file IN LISTS files)
        get_filename_component(room ${file} ABSOLUTE)
        get_filename_component(room ${room} DIRECTORY)
        get_filename_component(room ${room} NAME)
        list(APPEND of_${room} ${file})
        list(LENGTH of_${room} count)
        math(EXPR batch "(${count} - 1) / 20")
        set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${room}_${batch})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# For what takes the time, whatever the rest of the build is optimised for. With sanitizers nothing is optimised further than
# the tests need to be short.
set(speed_option $<IF:$<BOOL:${ATTN_SANITIZE}>,-O1,-O3>)
