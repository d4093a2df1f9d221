# find_package(jaxkern) for C++ programs, with one header:
#   jaxkern::jaxkern   the shared library; needs nothing else at build time
#   jaxkern::static    the same as static libraries
# Both find the worker and the headers where they were installed, wherever the
# prefix has been moved to. A wheel has no use for them.
if(SKBUILD)
  return()
endif()
include(CMakePackageConfigHelpers)

add_library(jaxkern_shared SHARED
  $<TARGET_OBJECTS:jaxkern_evaluator>
  $<TARGET_OBJECTS:jaxkern_core>
  $<TARGET_OBJECTS:jaxkern_cpu_toolchain>
  $<TARGET_OBJECTS:jaxkern_cuda_toolchain>)
target_link_libraries(jaxkern_shared PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(jaxkern_shared INTERFACE $<INSTALL_INTERFACE:include>)
target_link_options(jaxkern_shared PRIVATE LINKER:--exclude-libs,ALL)
set_target_properties(jaxkern_shared PROPERTIES
  OUTPUT_NAME jaxkern
  EXPORT_NAME jaxkern
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set_target_properties(jaxkern PROPERTIES EXPORT_NAME static)

install(TARGETS jaxkern_shared jaxkern jaxkern_evaluator jaxkern_core
  jaxkern_headers jaxkern_cpu_toolchain jaxkern_cuda_toolchain
  EXPORT jaxkern ARCHIVE DESTINATION lib LIBRARY DESTINATION lib)
install(DIRECTORY csrc/include/ DESTINATION include)
install(EXPORT jaxkern NAMESPACE jaxkern:: FILE jaxkernTargets.cmake
  DESTINATION lib/cmake/jaxkern)
configure_package_config_file(third_party/jaxkernConfig.cmake.in
  jaxkernConfig.cmake
  INSTALL_DESTINATION lib/cmake/jaxkern
  PATH_VARS JAXKERN_NATIVE_DIR)
write_basic_package_version_file(jaxkernConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/jaxkernConfig.cmake
  ${PROJECT_BINARY_DIR}/jaxkernConfigVersion.cmake
  DESTINATION lib/cmake/jaxkern)
