# version_text(RESULT SOURCE VERSION) gives the version with the commit of the checkout, "0.9.0 · 9b27b514", or the version alone
# where SOURCE is no checkout or git is missing.
function(version_text result source version)
    set(text ${version})
    execute_process(COMMAND git rev-parse --show-toplevel --short=8 HEAD WORKING_DIRECTORY ${source}
        OUTPUT_VARIABLE answer RESULT_VARIABLE code ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    # An archive's folder may lie in another project's checkout.
    file(REAL_PATH ${source} folder)
    if(code EQUAL 0 AND answer MATCHES "^(.*)\n([0-9a-f]+)$" AND CMAKE_MATCH_1 STREQUAL folder)
        string(APPEND text " · ${CMAKE_MATCH_2}")
    endif()
    set(${result} ${text} PARENT_SCOPE)
endfunction()

# Run as a script, this writes core/cli's version.cpp. Only a new commit changes it.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    cmake_minimum_required(VERSION 3.25)
    version_text(text ${SOURCE} ${VERSION})
    file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
// Generated.
#include "cli/version.hpp"

std::string_view attn::version() { return "@text@"; }
]])
endif()
