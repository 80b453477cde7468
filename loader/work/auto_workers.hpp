// Decides how many workers run at a time, if the options leave that to the loader.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include <record/time/stage_clock.hpp>

namespace penstock {

/// Sums since the loader was made, or since its statistics were reset.
struct WorkDone {
  std::uint64_t samples = 0;
  nanoseconds waited{};  ///< by the consumer, inside next()
  /// By the workers; the last two are zero if the system does not report them.
  nanoseconds worked{}, on_cores{}, awaited_cores{};
};

/// Observes intervals of about a second and moves the number of active workers between 1 and a limit. There are three
/// rules:
///
/// - More workers, if the consumer waits and all workers are busy. The new number keeps busy the cores that this loader
///   has and those that are idle, given how much of its time a worker is on a core. It at most doubles at once. The
///   increase stays if the rate grows by 2 %; otherwise it is rolled back, and the next trial comes later each time.
/// - Fewer workers, if a third of them is idle for long. The new number is enough for the work, with a reserve. If the
///   rate falls by 1 % or the consumer waits more, the change is rolled back, and the next trial comes later each time.
/// - Fewer workers, if they wait for cores that others use and are more than this loader's share of the cores. The
///   number never falls below that share. The loaders of a node's ranks, which only see their own statistics, thus
///   converge to their shares if all are busy, and otherwise use the cores that the others leave idle.
///
/// Source of the asymmetry between the first and the third rule (slowly up, at once down to the share): Chiu and
/// Jain, Computer Networks and ISDN Systems 17 (1989).
///
/// Only one thread may call due() and look(). All other functions are thread-safe.
class AutoWorkers {
 public:
  /// Begins with `share` workers, this loader's part of `cores`, and uses at most `most`. `ahead` is the number of
  /// batches that a loader may have ahead of its consumer. These delay the effect of a change.
  AutoWorkers(unsigned share, double cores, unsigned most, unsigned ahead);

  /// Called for each batch. Returns true if it is time to call look().
  bool due(Clock::time_point now);
  /// `idle`: idle cores among those that this process may use; nothing: unknown. Returns active().
  unsigned look(const WorkDone& done, std::optional<double> idle, Clock::time_point now);
  /// Sets the maximum to `most`, because more threads could not be started.
  void limit(unsigned most, Clock::time_point now);

  unsigned active() const;
  double average(Clock::time_point now) const;  ///< of active(), since reset()
  void reset(Clock::time_point now);            ///< sets the sums to zero

 private:
  /// Averages over an interval.
  struct Stretch {
    double rate = 0;     ///< samples/s
    double waited = 0;   ///< share of the time that the consumer waited
    double working = 0;  ///< average number of busy workers
    double on = 0;       ///< average number of cores that they used
    double alone = 0;    ///< share of a worker's time on a core if there were enough cores; 0: unknown
    double crowded = 0;  ///< share of the workers' time that they waited for a core
  };
  /// A direction to try, and the delay of the next trial after a failure.
  struct Trial {
    unsigned hold = 0, after_failure = kFirstHold;  // in intervals
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
  unsigned wanted_;  // after this look
  Trial more_, fewer_;
  Trial* trying_ = nullptr;  // points to more_ or fewer_
  double alone_ = 0;         // last known value
  Stretch before_;           // before the trial
  unsigned active_before_ = 0;
  unsigned idle_stretches_ = 0, crowded_stretches_ = 0;
  // When to look:
  std::uint64_t batches_ = 0;  // since the last look or change
  Clock::time_point since_{};
  bool settling_ = true;  // batches begun before the change are not counted
  WorkDone from_;
  // The average:
  double sum_ = 0;  // worker seconds until since_change_
  Clock::time_point reset_{}, since_change_{};
};

}  // namespace penstock
