# libtorch, kept in a corner. PyTorch's CMake package talks in warnings of libraries that nobody asked for, stops the
# configuration where a library of its own is missing, and takes libc10 from the system's folders before its own: a
# program would load two PyTorchs. This file is used by penstock's own build and by the installed package.

# penstock_find_torch(REASON): finds PyTorch by Torch_DIR or CMAKE_PREFIX_PATH and defines penstock::libtorch, its headers
# and libraries. Where that does not work, REASON says why; else it is empty.
function(penstock_find_torch reason)
  set(${reason} "" PARENT_SCOPE)
  if(TARGET penstock::libtorch)
    return()
  endif()
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  set(CMAKE_MESSAGE_LOG_LEVEL ERROR)
  find_package(Torch CONFIG QUIET)
  unset(CMAKE_MESSAGE_LOG_LEVEL)
  if(NOT Torch_FOUND OR NOT TARGET torch)
    set(${reason} "PyTorch not found (libtorch-dev, or CMAKE_PREFIX_PATH for another one)" PARENT_SCOPE)
  elseif("${TORCH_CXX_FLAGS}" MATCHES "CXX11_ABI=0")
    set(${reason} "the PyTorch in ${Torch_DIR} has the C++ ABI of before 2011; PyTorch 2.7 and later have this one" PARENT_SCOPE)
  else()
    add_library(penstock::libtorch INTERFACE IMPORTED GLOBAL)
    # Not TORCH_LIBRARIES: the targets know where their libraries lie, that list may name other ones.
    target_link_libraries(penstock::libtorch INTERFACE torch torch_library c10)
    message(STATUS "penstock: libtorch adapter on (PyTorch ${Torch_VERSION} in ${Torch_DIR})")
  endif()
endfunction()

# penstock_try_torch(REASON): whether penstock_find_torch would succeed and a program can be linked, tried in a build of its
# own: PyTorch's package may end the configuration that asks for it.
function(penstock_try_torch reason)
  set(wanted ${CMAKE_CXX_COMPILER} "${CMAKE_PREFIX_PATH}" "$ENV{CMAKE_PREFIX_PATH}" "${Torch_ROOT}")
  if(NOT DEFINED CACHE{PENSTOCK_TORCH_WORKS} OR NOT "${PENSTOCK_TORCH_TRIED}" STREQUAL "${wanted}")
    set(flags)
    foreach(name CMAKE_CXX_COMPILER CMAKE_PREFIX_PATH Torch_DIR Torch_ROOT)
      if(${name})
        string(REPLACE ";" "\\;" value "${${name}}")
        list(APPEND flags "-D${name}=${value}")
      endif()
    endforeach()
    set(log ${PROJECT_BINARY_DIR}/torch_probe.log)
    set(probe ${PROJECT_BINARY_DIR}/torch_probe)
    file(REMOVE_RECURSE ${probe})
    execute_process(RESULT_VARIABLE failure OUTPUT_FILE ${log} ERROR_FILE ${log}
      COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/torch_probe -B ${probe} -G ${CMAKE_GENERATOR} ${flags})
    if(failure EQUAL 0)
      execute_process(RESULT_VARIABLE failure OUTPUT_FILE ${log} ERROR_FILE ${log} COMMAND ${CMAKE_COMMAND} --build ${probe})
    endif()
    string(COMPARE EQUAL "${failure}" 0 works)
    set(PENSTOCK_TORCH_WORKS ${works} CACHE INTERNAL "")
    set(PENSTOCK_TORCH_TRIED "${wanted}" CACHE INTERNAL "")
  endif()
  set(${reason} "" PARENT_SCOPE)
  if(NOT PENSTOCK_TORCH_WORKS)
    set(${reason} "no PyTorch that a program can be linked with (${PROJECT_BINARY_DIR}/torch_probe.log)" PARENT_SCOPE)
  endif()
endfunction()
