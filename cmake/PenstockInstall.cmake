# install: headers, the shared library, the command, and a package that exports penstock::penstock.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(layer formats transforms loader bench)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${layer}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock/${layer}
    FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/penstock/penstock.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock)
install(TARGETS penstock EXPORT penstockTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT penstockTargets NAMESPACE penstock:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock FILE penstockConfig.cmake)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
if(PENSTOCK_BUILD_COMMAND)
  install(TARGETS penstock_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
