# install: headers, the shared library, the command, and a package that exports penstock::penstock.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers that show a third-party library stay behind: a user's program needs no package but penstock.
foreach(layer formats transforms loader bench)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${layer}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock/${layer}
    FILES_MATCHING PATTERN "*.hpp" PATTERN "hdf5_*" EXCLUDE PATTERN "uring_*" EXCLUDE)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/penstock/penstock.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock)
install(TARGETS penstock EXPORT penstockTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT penstockTargets NAMESPACE penstock:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock FILE penstockConfig.cmake)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/penstockConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
if(PENSTOCK_BUILD_COMMAND)
  file(RELATIVE_PATH library_from_command /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_property(TARGET penstock_command APPEND PROPERTY INSTALL_RPATH $ORIGIN/${library_from_command})
  install(TARGETS penstock_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
