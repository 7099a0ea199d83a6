# `cmake --install` gives an outside program the core: find_package(AttentionCore) and the target attn::core, with headers
# as <attn/attention/record.hpp>. The program attn comes along.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(Threads REQUIRED)

# One archive holds everything, so that a program links nothing else.
set(parts fast_core attention_core kernels_native workers_threads zlib_core)
list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
add_library(attn_core STATIC ${parts})
set_target_properties(attn_core PROPERTIES EXPORT_NAME core LINKER_LANGUAGE CXX)
target_compile_features(attn_core INTERFACE cxx_std_20)
target_include_directories(attn_core INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(attn_core INTERFACE Threads::Threads)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/AttentionCore)
install(TARGETS attn_core attn EXPORT AttentionCoreTargets)
install(EXPORT AttentionCoreTargets NAMESPACE attn:: DESTINATION ${package})
write_basic_package_version_file(AttentionCoreConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/AttentionCoreConfig.cmake ${CMAKE_BINARY_DIR}/AttentionCoreConfigVersion.cmake
    DESTINATION ${package})
install(CODE "
    set(CORE \"${PROJECT_SOURCE_DIR}/core\")
    set(STAGED \"${CMAKE_BINARY_DIR}/staged_headers\")
    set(INCLUDE \"${CMAKE_INSTALL_INCLUDEDIR}\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/InstallHeaders.cmake)
