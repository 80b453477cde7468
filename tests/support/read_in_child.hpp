// Reads a hostile file in a child process, which must end in time and within bounded memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <penstock/error.hpp>

#include "support/field_bytes.hpp"

namespace penstock::test {

constexpr int kIndexed = 0;
constexpr int kRefused = 10;          // one Error; anything else that is thrown gives 2, and sanitizers leave with 1
constexpr long kMostKib = 512 << 10;  // beside what the test itself has, and what a sanitizer takes

/// Indexes the file and reads up to 500 samples of it in a child, whose seconds and memory are bounded. Gives its exit.
/// Where it refused, the message of its Error stands in `told`, if that is given.
inline int read_in_child(const Format& format, const std::filesystem::path& file, unsigned seconds,
                         std::string* told = nullptr) {
  struct rusage own {};
  ::getrusage(RUSAGE_SELF, &own);
  int pipe[2] = {};
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(seconds);
    try {
      const Index index = format.index(file, file.parent_path(), {});
      constexpr std::uint64_t kMostRead = 500;  // blocks are undone for each sample anew
      for (std::uint64_t i = 0; i < std::min(kMostRead, index.size()); ++i) {
        for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
          field_bytes(index, file.parent_path(), i * (index.size() / std::min(kMostRead, index.size())), field);
        }
      }
      ::_exit(kIndexed);
    } catch (const Error& error) {
      const std::string text = error.what();
      const auto written = ::write(pipe[1], text.data(), std::min<std::size_t>(text.size(), 4096));
      ::_exit(written < 0 ? 3 : kRefused);
    } catch (...) {
      ::_exit(2);
    }
  }
  ::close(pipe[1]);
  int status = 0;
  struct rusage used {};
  ::wait4(child, &status, 0, &used);
  char text[4096];
  const auto length = ::read(pipe[0], text, sizeof(text));
  ::close(pipe[0]);
  if (told != nullptr) told->assign(text, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  CHECK(used.ru_maxrss < own.ru_maxrss + kMostKib);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace penstock::test
