# install: headers, the shared library, the command, and a package that exports penstock::penstock and penstock::torch.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers that show a third-party library stay behind: a user's program needs no package but penstock.
foreach(layer base formats device transforms loader staging pack bench)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${layer}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock/${layer}
    FILES_MATCHING PATTERN "*.hpp" PATTERN "hdf5" EXCLUDE PATTERN "uring_*" EXCLUDE PATTERN "dct" EXCLUDE PATTERN "jpeg" EXCLUDE)
endforeach()
# The libtorch adapter needs PyTorch where it is used, not here.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings/torch/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock/torch
  FILES_MATCHING PATTERN "*.hpp" PATTERN "examples" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/penstock/penstock.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock)
install(TARGETS penstock EXPORT penstockTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(PENSTOCK_WITH_CUDA)
  install(TARGETS penstock_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
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
