# embed_text(TARGET HEADER NAMESPACE FILES...) gives TARGET a generated header in which each file is a
# std::string_view named after it: `heatmap.frag` becomes heatmap_frag.
function(embed_text target header namespace)
    set(output ${CMAKE_BINARY_DIR}/generated/${target}/${header})
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAMESPACE=${namespace} "-DFILES=${ARGN}"
            -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        DEPENDS ${ARGN} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        VERBATIM)
    target_sources(${target} PRIVATE ${output})
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated/${target})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    cmake_minimum_required(VERSION 3.25)
    set(text "// Generated.\n#pragma once\n#include <string_view>\n\nnamespace ${NAMESPACE} {\n")
    foreach(file IN LISTS FILES)
        get_filename_component(name ${file} NAME)
        string(MAKE_C_IDENTIFIER ${name} name)
        file(READ ${file} content)
        string(APPEND text "inline constexpr std::string_view ${name} = R\"text(${content})text\";\n")
    endforeach()
    file(WRITE ${OUTPUT} "${text}}  // namespace ${NAMESPACE}\n")
endif()
