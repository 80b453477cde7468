// Decides how many workers are at tasks at a time, where that is left to the loader.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include <record/time/stage_clock.hpp>

namespace penstock {

/// Sums since the loader was made, or since its figures were set to zero.
struct WorkDone {
  std::uint64_t samples = 0;
  nanoseconds waited{};                               ///< by the consumer, inside next()
  nanoseconds worked{}, on_cores{}, awaited_cores{};  ///< by the workers; the last two zero where nobody tells
};

/// Watches stretches of about a second and moves the number of workers at work between 1 and a bound, by few rules:
///
/// - More, where the consumer waits and all workers work: as many as keep the cores busy that this loader has or nobody
///   uses, given how much of its time a worker is on a core; at most twice as many at once. They stay if they bring
///   2 %; if not, it is as before, and the next try comes later each time.
/// - Fewer, where a third of them is idle for long: as many as have work, with something to spare. If the rate falls by
///   1 % or the consumer waits more, it is as before, and the next try comes later each time.
/// - Fewer, where they wait for cores that others have, and are more than this loader's share of the cores; but no
///   fewer than that. So the loaders of a node's ranks, each of which minds its own figures alone, come to their shares
///   where all have much to do, and else use what the others leave.
///
/// Source of the second and third rule's asymmetry (slowly up, at once down to the share): Chiu and Jain, Computer
/// Networks and ISDN Systems 17 (1989).
///
/// One thread calls due() and look(); any thread may ask for the rest.
class AutoWorkers {
 public:
  /// Begins with `share`, for its share of `cores`, and uses `most` at most. `ahead`: batches that a loader may have
  /// ahead of its consumer, in which a change shows late.
  AutoWorkers(unsigned share, double cores, unsigned most, unsigned ahead);

  /// Called for each batch: whether it is time to look().
  bool due(Clock::time_point now);
  /// `idle`: cores that nobody uses, of those this process may use; nothing: unknown. Returns active().
  unsigned look(const WorkDone& done, std::optional<double> idle, Clock::time_point now);
  /// No more than those can be had.
  void limit(unsigned most, Clock::time_point now);

  unsigned active() const;
  double average(Clock::time_point now) const;  ///< of active(), since reset()
  void reset(Clock::time_point now);            ///< the sums begin at zero

 private:
  /// A stretch of time.
  struct Stretch {
    double rate = 0;     ///< samples/s
    double waited = 0;   ///< share of the time that the consumer waited
    double working = 0;  ///< workers, on average
    double on = 0;       ///< cores that they had
    double alone = 0;    ///< share of a worker's time on a core, were there enough of them; 0: unknown
    double crowded = 0;  ///< share of the workers' time that they waited for one
  };
  /// A way to try, and when next after it failed.
  struct Trial {
    unsigned hold = 0, after_failure = kFirstHold;  // stretches
    void failed();
    void worked() { hold = 0, after_failure = kFirstHold; }
  };
  static constexpr unsigned kFirstHold = 4, kLongestHold = 256;

  Stretch stretch(const WorkDone& done, double wall) const;
  void judge(const Stretch& now);
  void move(const Stretch& now, std::optional<double> idle);
  void change(unsigned workers, Clock::time_point now);

  const unsigned share_, ahead_;
  const double share_of_cores_;
  mutable std::mutex mutex_;  // guards all below
  unsigned most_, active_;
  unsigned wanted_;  // from this look on
  Trial more_, fewer_;
  Trial* trying_ = nullptr;  // of these two
  double alone_ = 0;         // as seen last
  Stretch before_;           // it was tried
  unsigned active_before_ = 0;
  unsigned idle_stretches_ = 0, crowded_stretches_ = 0;
  // When to look:
  std::uint64_t batches_ = 0;  // since the last look, or change
  Clock::time_point since_{};
  bool settling_ = true;  // what was ahead when it changed is not counted
  WorkDone from_;
  // The average:
  double sum_ = 0;  // seconds of workers, until since_change_
  Clock::time_point reset_{}, since_change_{};
};

}  // namespace penstock
