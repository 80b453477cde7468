# Installs headers, the shared library, the command, and a package that exports penstock::penstock and penstock::torch.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The headers that programs may include: no third-party library shows in them, so that a user's program needs no package
# but penstock. consumer_build_and_run fails where one includes an internal header. Those of the libtorch adapter need
# PyTorch where they are used, not here.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/penstock/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock
  FILES_MATCHING PATTERN "*.hpp")
install(TARGETS penstock EXPORT penstockTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(PENSTOCK_WITH_CUDA)
  install(TARGETS penstock_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(PENSTOCK_WITH_REMOTE)
  install(TARGETS penstock_remote_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
install(EXPORT penstockTargets NAMESPACE penstock:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/penstockConfig.cmake.in ${PROJECT_BINARY_DIR}/penstockConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/penstockConfig.cmake ${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/PenstockTorch.cmake DESTINATION ${package})
if(PENSTOCK_BUILD_COMMAND)
  file(RELATIVE_PATH library_from_command /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_property(TARGET penstock_command APPEND PROPERTY INSTALL_RPATH $ORIGIN/${library_from_command})
  install(TARGETS penstock_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
