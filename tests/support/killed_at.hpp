// Runs work in a child process and kills it right before its Nth change of a name in the file system.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock::test {

inline bool changes_a_name(std::uint64_t call) {
#ifdef SYS_rename
  if (call == SYS_rename || call == SYS_unlink || call == SYS_rmdir) return true;
#endif
  return call == SYS_renameat || call == SYS_renameat2 || call == SYS_unlinkat;
}

/// True when the work was killed, false when it ended with less than `number` (from 0 on) renames and removals; nothing
/// where processes may not be traced. `work` must start no thread.
inline std::optional<bool> killed_at(std::uint64_t number, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(2);
    ::raise(SIGSTOP);
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return std::nullopt;
  ::ptrace(static_cast<__ptrace_request>(PTRACE_SETOPTIONS), child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  for (std::uint64_t changes = 0;;) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? std::optional(false) : std::nullopt;
    if (WIFSIGNALED(status)) return std::nullopt;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    std::array<std::uint64_t, 16> raw{};  // struct ptrace_syscall_info: op in the first byte, the number at byte 24
    const long got = ::ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), child, sizeof(raw), raw.data());
    if (got <= 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return std::nullopt;
    }
    const bool entry = (raw[0] & 0xff) == PTRACE_SYSCALL_INFO_ENTRY;
    if (!entry || !changes_a_name(raw[3]) || changes++ != number) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return true;
  }
}

}  // namespace penstock::test
