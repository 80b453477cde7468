// Checks that hang on how fast a machine is: tried again where it was busy with others.
#pragma once

#include <string>

#include <doctest/doctest.h>

namespace penstock::test {

/// What speaks against one run. On a loaded machine times may be others than those planted: then there is another run.
struct Attempt {
  std::string against;
  void expect(bool good, const std::string& what) {
    if (!good) against += (against.empty() ? "" : "; ") + what;
  }
};

/// run() gives an Attempt. One of six must have nothing against it. tests/run_tests.py knows the failure by its text.
template <typename Run>
void check_soon(Run run) {
  std::string against = "not tried";
  for (int i = 0; i < 6 && !against.empty(); ++i) against = run().against;
  CHECK(against == "");
}

}  // namespace penstock::test
