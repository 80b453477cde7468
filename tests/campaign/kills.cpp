#include "campaign/kills.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <formats/io/hash.hpp>
#include <penstock/error.hpp>
#include <penstock/pack.hpp>
#include <penstock/stage.hpp>

#include "campaign/loading.hpp"

namespace penstock::campaign {
namespace {

namespace fs = std::filesystem;

constexpr int kWhole = 0, kRefused = 10, kWrong = 20;

// Exit status of `work` in a child of its own; nothing when the child was killed after `microseconds`.
int in_child(std::uint64_t microseconds, const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(work());
  if (microseconds > 0) {
    ::usleep(static_cast<useconds_t>(microseconds));
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Kill {
  const Kind* kind;
  std::uint64_t sort;
  std::string format;
  fs::path source, destination;

  // `resume`: a second process goes on with what the first left.
  int make(bool resume) const {
    const Dataset dataset = open(source / kind->opens);
    if (sort == 0) {
      ConvertOptions options;
      options.format = format;
      options.shard_size = 16 << 10;
      options.workers = 2;
      options.resume = resume;
      convert(dataset, destination, options);
    } else if (sort == 1) {
      stage(dataset, destination, {.workers = 2});
    }
    return kWhole;
  }
  fs::path made() const { return sort == 2 ? source / kind->opens : destination; }
};

// In a child: what stands there is whole and right, now or after going on.
int judge(const Kill& kill, Ledger& ledger) {
  try {
    if (kill.sort != 2 && fs::exists(kill.destination)) {
      if (const auto wrong = compare_all(open(kill.made()), kill.kind->variants.back()))
        return ledger.tell("after the kill: " + *wrong), kWrong;
    } else {
      kill.make(true);
    }
    if (const auto wrong = compare_all(open(kill.made()), kill.kind->variants.back()))
      return ledger.tell("gone on: " + *wrong), kWrong;
    return kWhole;
  } catch (const std::exception& error) {
    ledger.tell(error.what());
    return kRefused;
  }
}

}  // namespace

std::uint64_t run_kills(std::uint64_t seed, std::uint64_t first, std::uint64_t count, double seconds,
                        std::span<const Kind> kinds, const fs::path& scratch, Ledger& ledger) {
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t number = first; number < first + count; ++number) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > seconds)
      return number - first;
    Draws draws(mix64(seed * 0x9E3779B97F4A7C15 + ~number));
    const Kind& kind = kinds[below(draws, kinds.size())];
    Kill kill{.kind = &kind,
              .sort = below(draws, 3),
              .format = kind.covered && one_in(draws, 2) ? "lmdb" : "tar",
              .source = scratch / "killed",
              .destination = scratch / "killed-out" / "made"};
    fs::remove_all(kill.source);
    fs::remove_all(kill.destination.parent_path());
    fs::create_directories(kill.destination.parent_path());
    fs::copy(kind.folder, kill.source, fs::copy_options::recursive);
    if (kill.sort == 2) {  // as seen for the first time
      for (const auto& entry : fs::recursive_directory_iterator(kill.source)) {
        if (entry.path().string().ends_with("penstock-idx")) fs::remove(entry.path());
      }
    }
    ledger.tell("");
    const std::uint64_t after = 1 + below(draws, one_in(draws, 2) ? 3000 : 30000);
    in_child(after, [&kill] {
      try {
        return kill.make(false);
      } catch (...) {
        return kRefused;
      }
    });
    const int status = in_child(0, [&] {
      ::alarm(60);
      return judge(kill, ledger);
    });
    const Outcome outcome = status == kWhole          ? Outcome::right
                            : status == 128 + SIGALRM ? Outcome::hung
                            : status >= 128           ? Outcome::aborted
                                                      : Outcome::wrong;
    ++ledger.ended.at(static_cast<std::size_t>(outcome));
    if (outcome != Outcome::right)
      ledger.finding(number, outcome,
                     kind.name + ", sort " + std::to_string(kill.sort) + " as " + kill.format + " after " +
                         std::to_string(after) + " us: status " + std::to_string(status) + ": " + ledger.doing.data());
  }
  return count;
}

}  // namespace penstock::campaign
