// Tests the guard against SIGBUS. Each case runs in a process of its own, since signal handlers are the process's.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/sigbus_guard.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/file_bytes.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::sigbus_guard_test {
namespace {

constexpr std::size_t kBytes = 1 << 20;

// A mapped file that is cut to its first page.
class Cut {
 public:
  explicit Cut(const TemporaryFolder& folder) {
    write_file(folder / "data", std::string(kBytes, 'x'));
    const int fd = ::open((folder / "data").c_str(), O_RDONLY | O_CLOEXEC);
    bytes_ = static_cast<const std::byte*>(::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0));
    ::close(fd);
    std::filesystem::resize_file(folder / "data", 4096);
  }
  const std::byte* bytes() const { return bytes_; }
  unsigned touch() const { return static_cast<unsigned>(*static_cast<const volatile std::byte*>(bytes_ + 500'000)); }

 private:
  const std::byte* bytes_;
};

// Exit status of a process that runs `body`; minus the signal that ended it.
int status_of(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGBUS, SIG_DFL);  // not doctest's
    ::alarm(60);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool copies(const Cut& cut) {
  std::vector<std::byte> memory(kBytes);
  return copy_from_mapping(memory.data(), cut.bytes(), 4096) && !copy_from_mapping(memory.data(), cut.bytes(), kBytes);
}

sigjmp_buf g_back;
std::atomic<int> g_called{0};

void leave_by_jump(int, siginfo_t*, void*) {
  ++g_called;
  siglongjmp(g_back, 1);
}

void count(int) {
  ++g_called;
}

struct sigaction g_before;

// As faulthandler does: puts back what it found, and sends the signal again.
void put_back_and_raise(int signal) {
  ++g_called;
  ::sigaction(signal, &g_before, nullptr);
  ::raise(signal);
}

void handle(void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(SIGBUS, &action, &g_before);
}

void handle(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, &g_before);
}

}  // namespace

TEST_CASE("a fault that is nobody's ends the process, as without the guard") {
  const TemporaryFolder folder;
  for (void (*const before)(int) : {SIG_DFL, SIG_IGN}) {
    CHECK(status_of([&] {
            handle(before);
            const Cut cut(folder);
            if (!copies(cut)) return 1;
            return static_cast<int>(cut.touch()) * 0;
          }) == -SIGBUS);
  }
}

TEST_CASE("a signal that was sent is ignored, or ends the process, as before") {
  const TemporaryFolder folder;
  CHECK(status_of([&] {
          handle(SIG_IGN);
          const Cut cut(folder);
          if (!copies(cut)) return 1;
          return ::kill(::getpid(), SIGBUS);
        }) == 0);
  CHECK(status_of([&] {
          const Cut cut(folder);
          if (!copies(cut)) return 1;
          return ::kill(::getpid(), SIGBUS);
        }) == -SIGBUS);
}

TEST_CASE("a program's own handler is called for its own faults, put in place before or after") {
  const TemporaryFolder folder;
  for (const bool before : {true, false}) {
    CHECK(status_of([&] {
            const Cut cut(folder);
            if (before) handle(leave_by_jump);
            if (!copies(cut)) return 1;
            if (!before) handle(leave_by_jump);
            for (int i = 0; i < 6; ++i) {
              if (sigsetjmp(g_back, 1) == 0) return static_cast<int>(cut.touch()) + 2;
              if (i == 2 && !copies(cut)) return 3;  // the guard is in place again
            }
            return g_called == 6 ? 0 : 4;
          }) == 0);
  }
}

TEST_CASE("a handler of the plain kind gets signals that are sent") {
  const TemporaryFolder folder;
  CHECK(status_of([&] {
          handle(count);
          const Cut cut(folder);
          if (!copies(cut)) return 1;
          ::kill(::getpid(), SIGBUS);
          return g_called == 1 ? 0 : 2;
        }) == 0);
}

TEST_CASE("a handler that puts back the guard and sends the signal again ends in the default action, not in a circle") {
  const TemporaryFolder folder;
  CHECK(status_of([&] {
          const Cut cut(folder);
          if (!copies(cut)) return 1;
          handle(put_back_and_raise, SA_NODEFER);
          if (!copies(cut)) return 2;  // the guard goes in its place again, and knows it as the one before
          return static_cast<int>(cut.touch()) * 0;
        }) == -SIGBUS);
}

TEST_CASE("two that take turns in each other's place take no memory, and lose nobody") {
  const TemporaryFolder folder;
  CHECK(status_of([&] {
          const Cut cut(folder);
          for (int i = 0; i < 10'000; ++i) {
            handle(count);
            guard_against_sigbus();
          }
          ::kill(::getpid(), SIGBUS);
          return g_called == 1 && copies(cut) ? 0 : 1;
        }) == 0);
}

TEST_CASE("a handler that is put in place again and again pushes none out that was there before") {
  const TemporaryFolder folder;
  CHECK(status_of([&] {
          const Cut cut(folder);
          handle(count);
          guard_against_sigbus();
          for (int i = 0; i < 20; ++i) {
            handle(put_back_and_raise, SA_NODEFER);
            guard_against_sigbus();
          }
          ::kill(::getpid(), SIGBUS);
          return g_called == 2 && copies(cut) ? 0 : 1;
        }) == 0);
}

TEST_CASE("many threads fault at once") {
  const TemporaryFolder folder;
  CHECK(status_of([&] {
          const Cut cut(folder);
          std::atomic<int> wrong{0};
          std::vector<std::thread> threads;
          for (int t = 0; t < 16; ++t) {
            threads.emplace_back([&] {
              for (int i = 0; i < 200; ++i) wrong += copies(cut) ? 0 : 1;
            });
          }
          for (std::thread& thread : threads) thread.join();
          return wrong == 0 ? 0 : 1;
        }) == 0);
}

TEST_CASE("a guarded mapping reads as zeros where its file has ended, and says so") {
  const TemporaryFolder folder;
  CHECK(status_of([&] {
          const Cut cut(folder);
          const GuardedMapping guard({cut.bytes(), kBytes});
          if (guard.torn()) return 1;
          std::vector<std::thread> threads;
          std::atomic<unsigned> sum{0};
          for (int t = 0; t < 8; ++t) threads.emplace_back([&] { sum += cut.touch(); });
          for (std::thread& thread : threads) thread.join();
          return sum == 0 && guard.torn() && *cut.bytes() == std::byte{'x'} ? 0 : 2;
        }) == 0);
}

TEST_CASE("a mapping is guarded while its guard lives, and against faults alone") {
  const TemporaryFolder folder;
  CHECK(status_of([&] {
          const Cut cut(folder);
          { const GuardedMapping guard({cut.bytes(), kBytes}); }
          return static_cast<int>(cut.touch()) * 0;
        }) == -SIGBUS);
  CHECK(status_of([&] {
          handle(count);
          const TemporaryFolder other;
          const Cut first(folder), second(other);
          {
            const GuardedMapping guard({first.bytes(), kBytes});
            if (first.touch() != 0 || !guard.torn()) return 1;
          }
          const GuardedMapping guard({second.bytes(), kBytes});
          if (guard.torn()) return 2;
          siginfo_t sent{};  // with an address in the mapping, but by nobody's fault
          sent.si_signo = SIGBUS;
          sent.si_code = SI_QUEUE;
          sent.si_addr = const_cast<std::byte*>(second.bytes());
          if (::syscall(SYS_rt_sigqueueinfo, ::getpid(), SIGBUS, &sent) != 0) return 3;
          return g_called == 1 && !guard.torn() ? 0 : 4;
        }) == 0);
}

TEST_CASE("a large index that is cut short in use gives errors, and a small one does not mind") {
  const TemporaryFolder folder;
  for (const bool large : {false, true}) {
    const std::uint64_t samples = large ? 900'000 : 1000;
    {
      IndexBuilder builder;
      builder.add_file({.path = "a.tar", .size = 1 << 30, .stamp = 1});
      const std::uint32_t field = builder.field({.name = "bin", .codec = ""});
      const std::string prefix(large ? 60 : 5, 'k');
      for (std::uint64_t i = 0; i < samples; ++i) {
        builder.add_sample(prefix + std::to_string(10'000'000 + i));
        builder.set(field, Extent{0, i, 100});
      }
      write_file(folder / "a.idx", text_of(std::move(builder).finish().bytes()));
    }
    const auto size = std::filesystem::file_size(folder / "a.idx");
    CHECK((size > (std::size_t{64} << 20)) == large);
    CHECK(status_of([&] {
            const Index index = Index::open(folder / "a.idx");
            std::filesystem::resize_file(folder / "a.idx", 4096);
            std::vector<Piece> pieces;
            int failed = 0;
            for (int i = 0; i < 3; ++i) {
              try {
                static_cast<void>(index.key(samples - 1));
                static_cast<void>(index.locate(samples - 1, 0, pieces));
              } catch (const Error& error) {
                if (error.kind() != ErrorKind::io || std::string(error.what()).find("a.idx") == std::string::npos)
                  return 9;
                ++failed;
              }
            }
            return failed;
          }) == (large ? 3 : 0));
  }
}

TEST_CASE("a large sparse file is not read for its length's sake") {
  const TemporaryFolder folder;
  write_file(folder / "a.idx", std::string(5000, 'x'));
  std::error_code refused;
  std::filesystem::resize_file(folder / "a.idx", std::uintmax_t{1} << 43, refused);
  if (refused) {
    MESSAGE("skipped: the file system has no files that long");
    return;
  }
  CHECK_THROWS_WITH_AS(Index::open(folder / "a.idx"), doctest::Contains("sparse file"), Error);
}

}  // namespace penstock::test::sigbus_guard_test
