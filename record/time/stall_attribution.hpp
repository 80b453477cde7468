// Attributes the consumer's waits to stages, and measures its own work between them.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <penstock/stats.hpp>
#include <record/time/histogram.hpp>
#include <record/time/journey.hpp>
#include <record/time/step_log.hpp>
#include <record/time/trace_log.hpp>
#include <record/time/work_log.hpp>

namespace penstock {

/// Splits each wait over the stages, so that the parts add up to the whole. What counts is the batch that the consumer
/// waits for, and of that the rows that were finished last. The wait is cut where they passed from stage to stage:
///
///   the scheduler has yet to come to them  plan, as far as it planned; where it had no free slab, or no room in the
///                                          read window, what the workers did, who have the room; where they did
///                                          nothing, the copies that have the slabs, or the reads that have the window
///   their bytes are on their way           read
///   they wait for a worker, or have one    what that worker did, of this batch and of what it had to do before
///   it is with a stage behind delivery     that stage: the user's own step, copy
///   the rest: threads wake up              deliver, the first stage
///
/// Points of time are arguments so that tests may make them by hand; they must not go back.
class StallAttribution {
 public:
  /// `reads_ahead`: the workers' input comes from an engine. The logs outlive this.
  StallAttribution(const WorkLog& scheduler, const WorkLogs& workers, bool reads_ahead)
      : scheduler_(scheduler), workers_(workers), reads_ahead_(reads_ahead) {}

  /// Before the first wait, each `Stage` in the order of the line; the first one is what workers deliver to.
  /// `keeps_slabs`: its batches may have all slabs of the host while the workers have nothing to do.
  void add_stage(std::string name, bool keeps_slabs);
  /// Told of waits and of the steps between them; outlives this.
  void trace_into(TraceLane& trace) { trace_ = &trace; }
  void begin(Clock::time_point now);  ///< next() is called
  /// It returns, with a batch or (null) without one: then the workers tell what there is to tell.
  void end(Clock::time_point now, const Journey* journey);
  /// Its values have `bytes` bytes; for its rows, `read_bytes` were read.
  void got_batch(std::uint32_t rows, std::uint64_t bytes, std::uint64_t read_bytes, Clock::time_point now);
  void epoch_ends(Clock::time_point now);  ///< next() tells so, without a wait
  void mark_step(Clock::time_point now);   ///< the consumer's step ends
  Steps steps() const;
  void report(Stats& stats) const;
  void reset(Clock::time_point now);

 private:
  // By Activity::Kind (of those that are waits themselves, nothing), then by stage behind the first.
  using Times = std::vector<nanoseconds>;
  static constexpr std::size_t place_of(std::size_t stage) {
    return stage == 0 ? std::size_t{Activity::deliver} : Activity::count + stage - 1;
  }
  void split(Times& times, Clock::time_point from, Clock::time_point to, const Journey& journey) const;
  void add_plan(Times& times, Clock::time_point from, Clock::time_point to) const;
  std::size_t nobody_works(Activity::Kind wait) const;
  StepTime last_wait() const;
  void guess(Times& times, Clock::time_point from, Clock::time_point to) const;

  const WorkLog& scheduler_;
  const WorkLogs& workers_;
  const bool reads_ahead_;
  TraceLane* trace_ = nullptr;
  std::vector<std::string> stages_;                 // names, in the order of the line
  std::size_t keeps_slabs_ = Activity::deliver;     // place of the stage that does
  mutable std::mutex mutex_;                        // guards all below: stats() may come from another thread
  std::optional<Clock::time_point> began_, ended_;  // the wait under way; the end of the last one
  std::optional<Clock::time_point> asked_;          // when the first wait began
  Times waited_for_ = Times(Activity::count), wait_ = waited_for_;  // of all waits; of the last one
  nanoseconds waited_{}, busy_{};
  std::optional<nanoseconds> first_batch_;
  std::uint64_t samples_ = 0, batches_ = 0, bytes_ = 0, read_bytes_ = 0;
  std::uint64_t taken_ = 0, ready_ = 0;  // batches; those that were there before they were asked for
  Histogram waits_, steps_;
  StepLog log_;
};

/// One wait, also where it ends in an exception.
class Waiting {
 public:
  explicit Waiting(StallAttribution& stalls) : stalls_(stalls) { stalls_.begin(Clock::now()); }
  ~Waiting() { stalls_.end(Clock::now(), journey_); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  /// The journey of the batch that was waited for, which must outlive this object. A copy could throw, and lose the
  /// batch.
  void got(const Journey& journey) noexcept { journey_ = &journey; }

 private:
  StallAttribution& stalls_;
  const Journey* journey_ = nullptr;
};

}  // namespace penstock
