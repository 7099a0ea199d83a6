# Installs the headers of CORE as INCLUDE/attn/. Here they include each other as "tensor/tensor.hpp"; there they do as
# <attn/tensor/tensor.hpp>, so that no folder of another project is taken for one of theirs.
file(GLOB_RECURSE headers RELATIVE ${CORE} ${CORE}/*.hpp)
# The program's own, those compiled for one instruction set each, and those that show which JSON library is behind them.
list(FILTER headers EXCLUDE REGEX "^(cli/|kernels/simd/|io/json\\.hpp|io/config_reader\\.hpp)")
file(REMOVE_RECURSE ${STAGED})
foreach(header IN LISTS headers)
    file(READ ${CORE}/${header} text)
    string(REGEX REPLACE "#include \"([^\"]+)\"" "#include <attn/\\1>" text "${text}")
    file(WRITE ${STAGED}/attn/${header} "${text}")
endforeach()
file(INSTALL ${STAGED}/attn DESTINATION ${CMAKE_INSTALL_PREFIX}/${INCLUDE})
