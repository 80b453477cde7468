#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/waits/interruption.hpp>
#include <formats/io/descriptor.hpp>
#include <penstock/error.hpp>
#include <remote/credentials/process.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostOutput = 1 << 20;

// Returns false if the deadline passes first.
bool is_readable_by(int fd, std::chrono::steady_clock::time_point deadline) {
  while (true) {
    require_uninterrupted();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto while_nobody_asks = std::clamp(left, std::chrono::milliseconds(0), kBetweenInterruptions);
    pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(while_nobody_asks.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left > while_nobody_asks) continue;
    return ready > 0;
  }
}

// A child process; the destructor kills it and waits for it.
class Child {
 public:
  Child(const std::vector<std::string>& words, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // A separate process group, so that the program's own children are killed with it. No signal is blocked or ignored.
    sigset_t signals;
    sigset_t none;
    ::sigfillset(&signals);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int problem = ::posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (problem != 0) {
      pid_ = -1;
      throw Error::io(problem, "the program cannot be started");
    }
  }
  Child(Child&&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    wait();
  }

  // Returns false if the program is still running. Kernels before 5.3 have no pidfd_open, so the caller waits without a
  // limit.
  bool ends_by(std::chrono::steady_clock::time_point deadline) const {
    const Descriptor end(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (end.get() < 0) return true;
    return is_readable_by(end.get(), deadline);
  }

  // Returns 0 on success, or if this process ignores SIGCHLD and its children cannot be waited for.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0)
      if (errno != EINTR) {
        status = 0;
        break;
      }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
};

}  // namespace

std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  bool inside = false;  // inside a word, which may be empty between quotes
  char quote = '\0';
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == '\0' && (c == ' ' || c == '\t')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      words.back() += command[++i];
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote != '\0' && c == quote) {
      quote = '\0';
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0' || words.empty() || words.front().empty())
    throw Error::invalid_argument("credential_process is not a command");
  return words;
}

std::string output_of(const std::vector<std::string>& words, std::chrono::milliseconds patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error::io(errno, "cannot create a pipe to the program");
  const Descriptor reads(ends[0]);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::string text;
  std::array<char, 4096> some{};
  Descriptor writes(ends[1]);
  Child child(words, writes.get());
  writes = Descriptor();
  while (true) {
    if (!is_readable_by(reads.get(), deadline)) throw Error(ErrorKind::io, "the program did not answer in time");
    const ssize_t count = ::read(reads.get(), some.data(), some.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error::io(errno, "the program's output cannot be read");
    if (count == 0) break;
    text.append(some.data(), static_cast<std::size_t>(count));
    if (text.size() > kMostOutput) throw Error(ErrorKind::io, "the program's output is too large");
  }
  if (!child.ends_by(deadline)) throw Error(ErrorKind::io, "the program did not end in time");
  const int status = child.wait();
  if (WIFSIGNALED(status))
    throw Error(ErrorKind::io, "the program was ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    throw Error(ErrorKind::io, "the program ended with status " + std::to_string(WEXITSTATUS(status)));
  return text;
}

}  // namespace penstock
