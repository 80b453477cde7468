// Waits until a loader has nothing left to do before its next batch is asked for.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <penstock/loader.hpp>

namespace penstock::test {

/// Whether all other threads of this process wait, as man 5 proc has it in /proc/PID/task/TID/stat.
inline bool other_threads_wait() {
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    if (thread.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream file(thread.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t name_end = stat.rfind(") ");
    if (name_end == std::string::npos) continue;  // it has ended
    const char state = stat[name_end + 2];
    if (state == 'R' || state == 'D') return false;
  }
  return true;
}

/// The loader's stats once all its room is taken. Figures of different moments then agree: those of a trace that begins
/// or ends here, of the stages, and of single samples. On a loaded machine that may take a while.
inline Stats settled(const Loader& loader) {
  using Clock = std::chrono::steady_clock;
  const auto busy = [](const Stats& stats) {
    std::vector<std::chrono::nanoseconds> times;
    for (const StageStats& stage : stats.stages) times.push_back(stage.busy);
    return times;
  };
  Stats stats = loader.stats();
  for (auto since = Clock::now(); Clock::now() - since < std::chrono::milliseconds(50);) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Stats now = loader.stats();
    if (!other_threads_wait() || busy(now) != busy(stats)) since = Clock::now();
    stats = std::move(now);
  }
  return stats;
}

}  // namespace penstock::test
