// Tells what kind of error an action ends in.
#pragma once

#include <functional>

#include <doctest/doctest.h>

#include <penstock/error.hpp>

namespace penstock::test {

/// Fails the test case where there is none.
inline ErrorKind kind_of_failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::io;
}

}  // namespace penstock::test
