# find_package(jaxkern) for C++ programs: jaxkern::jaxkern and its one header.
# A wheel has no use for them.
if(SKBUILD)
  return()
endif()
install(TARGETS jaxkern jaxkern_evaluator jaxkern_core jaxkern_headers
  jaxkern_cpu_toolchain jaxkern_cuda_toolchain
  EXPORT jaxkern ARCHIVE DESTINATION lib)
install(DIRECTORY csrc/include/ DESTINATION include)
install(EXPORT jaxkern NAMESPACE jaxkern:: FILE jaxkernTargets.cmake
  DESTINATION lib/cmake/jaxkern)
file(WRITE ${PROJECT_BINARY_DIR}/jaxkernConfig.cmake
"include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(\${CMAKE_CURRENT_LIST_DIR}/jaxkernTargets.cmake)
")
install(FILES ${PROJECT_BINARY_DIR}/jaxkernConfig.cmake
  DESTINATION lib/cmake/jaxkern)
