# The target `site` runs this. It copies what changed, removes what is no longer part of the site, and writes
# manifest.json with the size in bytes of every file, from which the page shows its loading progress.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/Version.cmake)

file(GLOB styles ${SOURCE}/web/shell/*.css)
file(GLOB models RELATIVE ${SOURCE} ${SOURCE}/models/*/*)
list(TRANSFORM PROGRAMS REPLACE "[.]mjs$" ".wasm" OUTPUT_VARIABLE wasm)

set(kept manifest.json)
function(place folder)
    foreach(file IN LISTS ARGN)
        get_filename_component(name ${file} NAME)
        file(COPY_FILE ${file} ${SITE}/${folder}${name} ONLY_IF_DIFFERENT)
        list(APPEND kept ${folder}${name})
    endforeach()
    set(kept ${kept} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${SITE}/fonts)
place("" ${PROGRAMS} ${wasm} ${styles} ${SCRIPTS} ${SOURCE}/LICENSE
    ${SOURCE}/web/third_party_licences.txt)
place(fonts/ ${FONTS})
foreach(model IN LISTS models)
    get_filename_component(folder ${model} DIRECTORY)
    file(MAKE_DIRECTORY ${SITE}/${folder})
    place(${folder}/ ${SOURCE}/${model})
endforeach()

# The page says its version among its keys. Elsewhere a new commit changes nothing, so that no program is linked anew.
version_text(version ${SOURCE} ${VERSION})
file(READ ${SOURCE}/index.html page)
string(REPLACE "<!-- version -->" "${version}" page "${page}")
file(CONFIGURE OUTPUT ${SITE}/index.html CONTENT "${page}" @ONLY)
list(APPEND kept index.html)

file(GLOB_RECURSE present RELATIVE ${SITE} ${SITE}/*)
set(sizes)
foreach(file IN LISTS present)
    if(NOT file IN_LIST kept)
        file(REMOVE ${SITE}/${file})
    elseif(NOT file STREQUAL manifest.json)
        file(SIZE ${SITE}/${file} size)
        list(APPEND sizes "  \"${file}\": ${size}")
    endif()
endforeach()
list(JOIN sizes ",\n" sizes)
file(CONFIGURE OUTPUT ${SITE}/manifest.json CONTENT "{\n${sizes}\n}\n" @ONLY)
