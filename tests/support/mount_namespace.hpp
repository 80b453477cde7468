// A child process with mounts of its own.
#pragma once

#include <optional>

#include <sched.h>
#include <sys/mount.h>

#include "support/processes.hpp"

namespace penstock::test {

constexpr const char* kNoMountNamespace = "this process may not mount in a namespace of its own; run the test as root";

/// What `work` returned in a child process whose mounts nobody else sees. Nothing if `work` returned nothing, because a
/// mount was refused, or if the system refuses such a child. The child has one thread.
template <typename Work>
std::optional<bool> in_mount_namespace(const Work& work) {
  constexpr int kRefused = 2;
  const int status = in_child([&]() -> int {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kRefused;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kRefused;
    const std::optional<bool> good = work();
    if (!good) return kRefused;
    return *good ? 0 : 1;
  });
  if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == kRefused)) return std::nullopt;
  return status == 0;
}

}  // namespace penstock::test
