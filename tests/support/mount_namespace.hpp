// A child process with mounts of its own.
#pragma once

#include <optional>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock::test {

constexpr const char* kNoMountNamespace = "this process may not make a mount namespace; run the test as root";

/// Whether `work` returned true in a child process whose mounts nobody else sees. Nothing if the system refuses such a
/// child. The child has one thread.
template <typename Work>
std::optional<bool> in_mount_namespace(const Work& work) {
  constexpr int kRefused = 2;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(kRefused);
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(kRefused);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return std::nullopt;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kRefused) return std::nullopt;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace penstock::test
