# tests/torch once more, as a user's project: the installed penstock with the PyTorch that pip put into .venv.
set(python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
set(pip_torch)
if(EXISTS ${python})
  execute_process(OUTPUT_VARIABLE pip_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    COMMAND ${python} -c "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])")
endif()
if(NOT EXISTS "${pip_torch}/share/cmake/Torch/TorchConfig.cmake")
  add_test(NAME torch_of_pip COMMAND ${CMAKE_COMMAND} -E echo "skipped: no PyTorch in .venv, which scripts/python_environment.sh makes")
  set_tests_properties(torch_of_pip PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped:")
  return()
endif()

add_test(NAME torch_of_pip
  COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${CMAKE_CURRENT_LIST_DIR} ${PROJECT_BINARY_DIR}/torch_of_pip
    --build-generator ${CMAKE_GENERATOR} --build-project penstock_torch_tests
    --build-options -Dpenstock_DIR=${installed}/${CMAKE_INSTALL_LIBDIR}/cmake/penstock -DCMAKE_PREFIX_PATH=${pip_torch}/share/cmake
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
    --test-command ${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error)
set_tests_properties(torch_of_pip PROPERTIES FIXTURES_REQUIRED installed TIMEOUT 1800)
