# A browser rejects modules with instructions that it does not know, so a program for the web is linked in variants:
# the same objects, each time with the kernels for other instructions, and each of these once more with threads, for pages
# that are isolated from other origins (the target attention_VARIANT). A native program asks the machine that it runs on.
if(NOT EMSCRIPTEN)
    set(ATTN_VARIANTS native)
    set(ATTN_INSTRUCTION_SETS native)
else()
    set(ATTN_INSTRUCTION_SETS simd relaxed)
    set(ATTN_VARIANTS simd simd-threads relaxed relaxed-threads)
endif()

# attn_program(NAME files...) compiles the objects as the target NAME; the programs NAME-VARIANT get its public
# link options and libraries.
function(attn_program name)
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${ARGN})
    target_link_libraries(${name} PUBLIC attention_core PRIVATE project_warnings)
    foreach(variant IN LISTS ATTN_VARIANTS)
        add_executable(${name}-${variant} $<TARGET_OBJECTS:${name}>)
        set_target_properties(${name}-${variant} PROPERTIES LINKER_LANGUAGE CXX)
        target_link_libraries(${name}-${variant} PRIVATE ${name} attention_${variant})
        if(variant MATCHES "threads")
            target_link_options(${name}-${variant} PRIVATE -pthread -Wno-pthreads-mem-growth)
        endif()
        if(variant MATCHES "relaxed")
            set_target_properties(${name}-${variant} PROPERTIES CROSSCOMPILING_EMULATOR "${relaxed_node}")
        endif()
    endforeach()
endfunction()

# program_properties(NAME PROPERTY VALUE...) sets properties of all programs of attn_program(NAME).
function(program_properties name)
    foreach(variant IN LISTS ATTN_VARIANTS)
        set_target_properties(${name}-${variant} PROPERTIES ${ARGN})
    endforeach()
endfunction()

# instruction_set_sources(TARGET SET [PLAIN files...] [RELAXED files...] [X86 files...]) adds the files
# for the instructions that a program of the set has. NAME_avx2.cpp and NAME_avx512.cpp are compiled for
# their own instructions only.
function(instruction_set_sources target set)
    cmake_parse_arguments(PARSE_ARGV 2 of "" "" "PLAIN;RELAXED;X86")
    if(set STREQUAL "relaxed")
        target_sources(${target} PRIVATE ${of_RELAXED})
        target_compile_options(${target} PRIVATE -mrelaxed-simd)
    elseif(set STREQUAL "native" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        target_sources(${target} PRIVATE ${of_X86})
        set(avx2 -mavx2 -mfma -mf16c)
        foreach(file IN LISTS of_X86)
            if(file MATCHES "_avx2")
                set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${avx2}")
            elseif(file MATCHES "_avx512")
                set_source_files_properties(${file} PROPERTIES
                    COMPILE_OPTIONS "${avx2};-mavx512f;-mprefer-vector-width=512")
            endif()
        endforeach()
    else()
        target_sources(${target} PRIVATE ${of_PLAIN})
    endif()
endfunction()
