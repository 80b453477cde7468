# Installs the build afresh, moves the folder, and then uses the moved folder: builds and runs tests/consumer against it,
# and runs its command and its Python package.
include(GNUInstallDirs)
set(before_move ${PROJECT_BINARY_DIR}/consumer/before_move)
set(installed ${PROJECT_BINARY_DIR}/consumer/installed)
set(with_torch OFF)
if(TARGET penstock::torch)
  set(with_torch ON)
endif()
set(sanitizer_flags)
if(PENSTOCK_SANITIZER)
  set(sanitizer_flags -DCMAKE_CXX_FLAGS=-fsanitize=${PENSTOCK_SANITIZER})
endif()

add_test(NAME consumer_clean COMMAND ${CMAKE_COMMAND} -E rm -rf ${PROJECT_BINARY_DIR}/consumer)
add_test(NAME consumer_install COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${before_move})
add_test(NAME consumer_move COMMAND ${CMAKE_COMMAND} -E rename ${before_move} ${installed})
add_test(NAME consumer_build_and_run
  COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${CMAKE_CURRENT_LIST_DIR} ${PROJECT_BINARY_DIR}/consumer/build
    --build-generator ${CMAKE_GENERATOR} --build-project consumer
    --build-options -DCMAKE_PREFIX_PATH=${installed} -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} ${sanitizer_flags}
      -DWITH_TORCH=${with_torch}
    --test-command ${PROJECT_BINARY_DIR}/consumer/build/consumer)
add_test(NAME consumer_command COMMAND ${installed}/${CMAKE_INSTALL_BINDIR}/penstock --version)
set_tests_properties(consumer_clean PROPERTIES FIXTURES_SETUP consumer_clean)
set_tests_properties(consumer_install PROPERTIES FIXTURES_REQUIRED consumer_clean FIXTURES_SETUP before_move)
set_tests_properties(consumer_move PROPERTIES FIXTURES_REQUIRED before_move FIXTURES_SETUP installed)
set_tests_properties(consumer_build_and_run consumer_command PROPERTIES FIXTURES_REQUIRED installed
  ENVIRONMENT "${PENSTOCK_SANITIZER_OPTIONS}")
if(with_torch)
  add_test(NAME consumer_torch COMMAND ${PROJECT_BINARY_DIR}/consumer/build/consumer_torch)
  set_tests_properties(consumer_build_and_run PROPERTIES FIXTURES_SETUP consumer_built)
  set_tests_properties(consumer_torch PROPERTIES FIXTURES_REQUIRED consumer_built)
endif()
if(TARGET _penstock)
  add_test(NAME consumer_python COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check_package.py ${installed})
  set_tests_properties(consumer_python PROPERTIES FIXTURES_REQUIRED installed)
endif()
