# A browser takes no module with instructions that it does not know, so a program for the web is linked in variants: the
# same objects, each time with the kernels of other instructions (the target attention_VARIANT). A native program asks the
# machine it runs on.
if(NOT EMSCRIPTEN)
    set(ATTN_VARIANTS native)
elseif(ATTN_THREADS)
    set(ATTN_VARIANTS relaxed-threads)
else()
    set(ATTN_VARIANTS simd relaxed)
endif()

# attn_program(NAME files...)  The objects are the target NAME, whose public link options and libraries the programs
# NAME-VARIANT get.
function(attn_program name)
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${ARGN})
    target_link_libraries(${name} PUBLIC attention_core PRIVATE project_warnings)
    foreach(variant IN LISTS ATTN_VARIANTS)
        add_executable(${name}-${variant} $<TARGET_OBJECTS:${name}>)
        set_target_properties(${name}-${variant} PROPERTIES LINKER_LANGUAGE CXX)
        target_link_libraries(${name}-${variant} PRIVATE ${name} attention_${variant})
        if(variant MATCHES "relaxed")
            set_target_properties(${name}-${variant} PROPERTIES CROSSCOMPILING_EMULATOR "${relaxed_node}")
        endif()
    endforeach()
endfunction()

# program_properties(NAME PROPERTY VALUE...)  For all programs of attn_program(NAME).
function(program_properties name)
    foreach(variant IN LISTS ATTN_VARIANTS)
        set_target_properties(${name}-${variant} PROPERTIES ${ARGN})
    endforeach()
endfunction()

# variant_sources(TARGET VARIANT [PLAIN files...] [RELAXED files...] [X86 files...])  Those of the instruction sets that a
# program of the variant has. NAME_avx2.cpp and NAME_avx512.cpp are compiled for theirs alone.
function(variant_sources target variant)
    cmake_parse_arguments(PARSE_ARGV 2 of "" "" "PLAIN;RELAXED;X86")
    if(variant MATCHES "relaxed")
        target_sources(${target} PRIVATE ${of_RELAXED})
        target_compile_options(${target} PRIVATE -mrelaxed-simd)
    elseif(variant STREQUAL "native" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
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
