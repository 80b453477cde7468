// Runs processes beside this one.
#pragma once

#include <concepts>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock::test {

/// The wait status of a child that does `work` and exits with its number, or with 0 for true and 1 for false. A child
/// that hangs is ended. -1 if there is no child.
inline int in_child(const auto& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);
    if constexpr (std::same_as<decltype(work()), bool>)
      ::_exit(work() ? 0 : 1);
    else
      ::_exit(work());
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child ? status : -1;
}

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
