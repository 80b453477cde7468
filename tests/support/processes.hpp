// Runs processes beside this one.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock::test {

/// Does `action` in `count` processes at once and waits for them. Each is to find it true, and not to throw.
template <typename Action>
void check_in_processes(int count, const Action& action) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child != 0) continue;
    int failed = 1;
    try {
      failed = action() ? 0 : 1;
    } catch (...) {
    }
    ::_exit(failed);
  }
  for (int i = 0; i < count; ++i) {
    int status = 1;
    REQUIRE(::wait(&status) > 0);
    CHECK(status == 0);
  }
}

}  // namespace penstock::test
