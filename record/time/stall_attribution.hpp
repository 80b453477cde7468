// Attributes the consumer's waits to stages, and measures its own work between the waits.
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

/// Splits each wait among the stages.
///
/// Method: the wait for a batch ends when its last rows are finished, so only the journey of these rows counts. The
/// wait is cut at the times when they passed from stage to stage, and each part is attributed to a stage:
///
///   the scheduler has not reached them          plan, while it planned. If it had no free slab, or no room in the read
///                                               window, the workers' activity, because they hold the room. If they
///                                               were idle, the copies that hold the slabs, or the reads that fill the
///                                               window
///   their bytes are in flight                   read
///   they wait for a worker, or one has them     that worker's activity, on this batch and on its work before
///   they are in a stage after delivery          that stage: the custom transform, copy
///   the rest: threads wake up                   deliver, the first stage
///
/// Invariant: the parts add up to the whole wait, so the shares in a report sum to 100 %. Times are arguments, so
/// that tests can set them; they must not decrease.
class StallAttribution {
 public:
  /// `reads_ahead`: an engine provides the workers' input. The logs must outlive this object.
  StallAttribution(const WorkLog& scheduler, const WorkLogs& workers, bool reads_ahead)
      : scheduler_(scheduler), workers_(workers), reads_ahead_(reads_ahead) {}

  /// Adds a stage. Called before the first wait, for each `Stage` in order. Workers deliver to the first stage.
  /// `keeps_slabs`: its batches may occupy all slabs of the host while the workers are idle.
  void add_stage(std::string name, bool keeps_slabs);
  /// Sets where waits, and the steps between them, are traced. `trace` must outlive this object.
  void trace_into(TraceLane& trace) { trace_ = &trace; }
  void begin(Clock::time_point now);  ///< next() is called
  /// next() returns with a batch, or (null) without one. In the latter case, the workers' activity is used to guess
  /// the cause.
  void end(Clock::time_point now, const Journey* journey);
  /// `bytes` is the size of the batch's values. `read_bytes` were read for its rows.
  void got_batch(std::uint32_t rows, std::uint64_t bytes, std::uint64_t read_bytes, Clock::time_point now);
  void epoch_ends(Clock::time_point now);  ///< next() reports the end of the epoch, without a wait
  void mark_step(Clock::time_point now);   ///< the consumer's step ends
  Steps steps() const;
  void report(Stats& stats) const;
  void reset(Clock::time_point now);

 private:
  // By Activity::Kind (kinds that are waits remain zero), then by stage after the first.
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
  std::vector<std::string> stages_;                                 // names, in order
  std::size_t keeps_slabs_ = Activity::deliver;                     // index of the stage with keeps_slabs
  mutable std::mutex mutex_;                                        // guards all below: another thread may call stats()
  std::optional<Clock::time_point> began_, ended_;                  // the wait in progress; the end of the last one
  std::optional<Clock::time_point> asked_;                          // when the first wait began
  Times waited_for_ = Times(Activity::count), wait_ = waited_for_;  // sums over all waits; parts of the last wait
  nanoseconds waited_{}, busy_{};
  std::optional<nanoseconds> first_batch_;
  std::uint64_t samples_ = 0, batches_ = 0, bytes_ = 0, read_bytes_ = 0;
  std::uint64_t taken_ = 0, ready_ = 0;  // batches; those that were ready before the consumer asked for them
  Histogram waits_, steps_;
  StepLog log_;
};

/// One wait, even if it ends with an exception.
class Waiting {
 public:
  explicit Waiting(StallAttribution& stalls) : stalls_(stalls) { stalls_.begin(Clock::now()); }
  ~Waiting() { stalls_.end(Clock::now(), journey_); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  /// Sets the journey of the awaited batch, which must outlive this object. It is not copied, because a copy could
  /// throw and lose the batch.
  void got(const Journey& journey) noexcept { journey_ = &journey; }

 private:
  StallAttribution& stalls_;
  const Journey* journey_ = nullptr;
};

}  // namespace penstock
