// Prints the examples' progress: moving averages of what the steps took and reached.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

using Seconds = std::chrono::duration<double>;

/// One step of the training loop.
struct Step {
  std::uint64_t samples = 0;
  Seconds loading{}, training{};
  std::optional<double> loss, correct;  ///< mean; samples that the network got right. None without training.
};

/// Prints a line with averages over the last steps every so many steps, and the sums at the end.
class Progress {
 public:
  explicit Progress(std::uint64_t every) : every_(every) {}

  void add(std::uint64_t epoch, const Step& step);
  /// The line of the last step, unless it is there already.
  void end_epoch();
  /// "N samples in T s: R samples/s, loading L s, training M s, B MB read".
  void print_sums(std::uint64_t bytes_read) const;

 private:
  void print();

  std::uint64_t every_, epoch_ = 0, steps_ = 0;
  std::uint64_t printed_ = 0;  // steps_ of the last line
  std::deque<Step> last_;
  Step sum_;
};
