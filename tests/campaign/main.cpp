// Usage: campaign [--seed S] [--first N] [--count N] [--seconds T] [--kills N] [--replay N] [--verbose]
// Random trials, forked in batches with a watchdog. Prints what came of them, and each finding with the line that
// repeats it. Exit 1 with findings.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign/kills.hpp"
#include "campaign/trial.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::campaign {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kBatch = 500;          // trials of one child
constexpr std::chrono::seconds kPatience{60};  // a trial takes milliseconds

struct Settings {
  std::uint64_t seed = 1, first = 0, count = 1000, kills = 0;
  double seconds = 1e9;
  bool verbose = false;
};

std::int64_t now_ns() {
  return Clock::now().time_since_epoch().count();
}

[[noreturn]] void run_batch(const Settings& settings, std::uint64_t until, std::span<const Kind> kinds,
                            const fs::path& scratch, Ledger& ledger) {
  for (std::uint64_t number = ledger.trial; number < until; ++number) {
    ledger.began_ns = now_ns();
    const Verdict verdict = run_trial(settings.seed, number, kinds, scratch, ledger);
    if (settings.verbose)
      std::cerr << number << " " << name(verdict.outcome) << ": " << ledger.doing.data() << " -> " << verdict.text
                << std::endl;
    ++ledger.ended.at(static_cast<std::size_t>(verdict.outcome));
    ledger.began_ns = 0;
    ledger.trial = number + 1;
    if (verdict.outcome != Outcome::wrong) continue;
    ledger.finding(number, verdict.outcome, verdict.text);
    break;  // what it left behind would be blamed on the next
  }
  std::_Exit(0);
}

// Waits for the child's end; kills it when a trial takes too long. True when it ended well.
void watch(pid_t child, Ledger& ledger) {
  int status = 0;
  bool hung = false;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const std::int64_t began = ledger.began_ns;
    if (!hung && began != 0 && now_ns() - began > std::chrono::nanoseconds(kPatience).count()) {
      hung = true;
      ::kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!hung && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const Outcome outcome = hung ? Outcome::hung : Outcome::aborted;
  const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                              : "exit " + std::to_string(WEXITSTATUS(status));
  ledger.finding(ledger.trial, outcome, how + " [" + ledger.doing.data() + "]");
  ++ledger.ended.at(static_cast<std::size_t>(outcome));
  ++ledger.trial;
  ledger.began_ns = 0;
}

void run_trials(const Settings& settings, std::span<const Kind> kinds, const fs::path& scratch, Ledger& ledger) {
  const auto began = Clock::now();
  const std::uint64_t end = settings.first + settings.count;
  ledger.trial = settings.first;
  while (ledger.trial < end && std::chrono::duration<double>(Clock::now() - began).count() < settings.seconds) {
    const std::uint64_t until = std::min(end, ledger.trial + kBatch);
    const pid_t child = ::fork();
    if (child == 0) run_batch(settings, until, kinds, scratch, ledger);
    watch(child, ledger);
  }
}

std::uint64_t tell(const Settings& settings, const Ledger& ledger, std::string_view what, std::uint64_t trials) {
  std::cout << what << ": seed " << settings.seed << ", " << trials << " trials:";
  for (std::size_t i = 0; i < kOutcomes; ++i)
    std::cout << " " << ledger.ended.at(i) << " " << name(static_cast<Outcome>(i));
  std::cout << "\n";
  const std::uint64_t found = ledger.found;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(found, Ledger::kFindings); ++i)
    std::cout << "  " << ledger.findings.at(i).data() << "\n";
  return found;
}

int run(const Settings& settings) {
  const fs::path memory = "/dev/shm";
  if (fs::is_directory(memory)) ::setenv("TMPDIR", memory.c_str(), 0);
  const test::TemporaryFolder folder;
  ::setenv("HOME", folder.path().c_str(), 1);  // sidecars that cannot lie beside their data
  ::unsetenv("XDG_CACHE_HOME");
  const SharedLedger ledger;
  const std::vector<Kind> kinds = make_kinds(folder / "kinds");
  std::uint64_t found = 0;
  if (settings.count > 0) {
    run_trials(settings, kinds, folder.path(), *ledger);
    found += tell(settings, *ledger, "in process", ledger->trial - settings.first);
  }
  if (settings.kills > 0) {
    const SharedLedger of_kills;
    const std::uint64_t trials =
        run_kills(settings.seed, settings.first, settings.kills, settings.seconds, kinds, folder.path(), *of_kills);
    found += tell(settings, *of_kills, "killed", trials);
  }
  return found == 0 ? 0 : 1;
}

}  // namespace
}  // namespace penstock::campaign

int main(int count, char** values) {
  penstock::campaign::Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string option = values[i];
    const auto number = [&] { return i + 1 < count ? std::strtoull(values[++i], nullptr, 10) : 0; };
    if (option == "--seed")
      settings.seed = number();
    else if (option == "--first")
      settings.first = number();
    else if (option == "--count")
      settings.count = number();
    else if (option == "--seconds")
      settings.seconds = static_cast<double>(number());
    else if (option == "--kills")
      settings.kills = number();
    else if (option == "--replay")
      settings.first = number(), settings.count = 1, settings.verbose = true;
    else if (option == "--verbose")
      settings.verbose = true;
    else
      return std::cerr << "campaign: unknown option " << option << "\n", 2;
  }
  try {
    return penstock::campaign::run(settings);
  } catch (const std::exception& error) {
    std::cerr << "campaign: " << error.what() << "\n";
    return 2;
  }
}
