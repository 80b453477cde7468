// Shows the progress of long work on stderr: a bar on a terminal, now and then a plain line otherwise.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace penstock::cli {

/// "packing  1,204/2,000 samples  60 %  812/s  1 s left". Used from one thread.
class Progress {
 public:
  /// A unit that is shown as "1.2 GiB".
  static constexpr const char* kBytes = "bytes";
  /// `what` is the work ("packing"), `unit` what is counted ("samples").
  Progress(std::string what, std::string unit);
  ~Progress();  ///< ends the bar's line
  Progress(Progress&&) = delete;

  /// Shows the state when the last one shown is old enough. `bytes`, when not 0, adds MB/s.
  /// Returns false when the user asked to stop: what the library's progress callbacks want.
  bool operator()(std::uint64_t done, std::uint64_t total, std::uint64_t bytes = 0);

 private:
  using Clock = std::chrono::steady_clock;
  std::string counted(std::uint64_t done, std::uint64_t total, double rate) const;
  std::string line(std::uint64_t done, std::uint64_t total, std::uint64_t bytes) const;

  std::string what_, unit_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_, shown_;
  std::uint64_t first_done_ = 0;  ///< where the work began: a resumed run does not count what was there
  bool started_ = false;
};

}  // namespace penstock::cli
