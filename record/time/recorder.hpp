// Records the work of a loader's threads and its consumer, and reports it as statistics and as a trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <penstock/stats.hpp>
#include <penstock/trace.hpp>
#include <record/time/level_log.hpp>
#include <record/time/read_record.hpp>
#include <record/time/stage_clock.hpp>
#include <record/time/stall_attribution.hpp>
#include <record/time/trace_file.hpp>
#include <record/time/trace_log.hpp>
#include <record/time/trace_writer.hpp>
#include <record/time/work_log.hpp>
#include <record/time/worker_record.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// All records of one loader. It outlives the loader's threads. Each thread adds to its own record. Only the
/// consumer's thread calls the functions under "The consumer"; any thread may read statistics.
class Recorder {
 public:
  /// `outputs` is the number of outputs of the workers. `reads_ahead`: an engine reads ahead of the workers.
  Recorder(unsigned workers, std::size_t outputs, bool reads_ahead);

  // ---- The threads
  // --------------------------------------------------------------------------------------------------

  StageClocks& clocks() { return clocks_; }  ///< sums, to which any thread may add
  const StageClocks& clocks() const { return clocks_; }
  WorkLog& scheduler() { return scheduler_; }
  TraceLane& scheduler_trace() { return trace_.scheduler(); }
  ReadRecord& reads() { return reads_; }
  const ReadRecord& reads() const { return reads_; }
  TraceLane& request_trace() { return trace_.requests(); }
  struct OfWorker {
    WorkLog* log = nullptr;
    WorkerRecord* rows = nullptr;
    TraceLane* trace = nullptr;
  };
  OfWorker worker(std::size_t number) {
    return {worker_logs_[number].get(), workers_[number].get(), &trace_.worker(number)};
  }

  // ---- The consumer -------------------------------------------------------------------------------------------------

  /// Adds a stage after the workers, before the first wait. See StallAttribution. Returns the lane of its trace; null
  /// for the first stage, which the workers trace.
  TraceLane* add_stage(std::string name, bool keeps_slabs);
  StallAttribution& stalls() { return stalls_; }
  const StallAttribution& stalls() const { return stalls_; }
  /// Called at the start of next(). Calls look() for the levels of the queues if a sample is due or a trace needs
  /// them.
  template <typename Look>
  void called(Clock::time_point now, Look look) {
    levels_.now(now, look);
    if (!tracing()) return;
    if (!marks_steps_ || !traced_step_) begin_traced_step();
    if (!trace_.consumer().on()) return;
    Levels levels = look();
    levels.at = Clock::now();
    trace_.consumer().add(levels);
  }
  void mark_step();
  bool tracing() const { return file_.has_value(); }
  /// Throws Error: invalid_argument, for invalid options, and while another trace is recorded; io.
  void begin_trace(const std::filesystem::path& file, const TraceOptions& options);
  /// Ends the trace, also if its file cannot be written. Throws Error: io; invalid_argument, without a trace.
  TraceSummary end_trace(const TraceNames& names);
  void reset();

  // ---- Statistics
  // ---------------------------------------------------------------------------------------------------

  /// Reports everything except the times of stages. `key_of` returns the key of a sample.
  void report(Stats& stats, std::span<const Output> outputs,
              const std::function<std::string_view(std::uint64_t)>& key_of) const;
  WorkerRecord::Cores cores() const;  ///< of all workers, since reset()

 private:
  void begin_traced_step();
  void report_rows(Stats& stats, std::span<const Output> outputs,
                   const std::function<std::string_view(std::uint64_t)>& key_of) const;

  StageClocks clocks_;
  TraceLog trace_;
  WorkLog scheduler_;
  WorkLogs worker_logs_;
  WorkerRecords workers_;
  ReadRecord reads_{&trace_.requests()};
  StallAttribution stalls_;
  LevelLog levels_;
  std::optional<TraceFile> file_;  // the trace's file; only the consumer's thread uses this and the members below
  std::optional<Schedule> schedule_;
  std::optional<std::uint64_t> traced_step_;
  bool marks_steps_ = false, has_stage_ = false;
};

}  // namespace penstock
