#include <memory>
#include <utility>

#include <penstock/error.hpp>
#include <record/time/recorder.hpp>

namespace penstock {
namespace {

template <typename Record, typename... Arguments>
std::vector<std::unique_ptr<Record>> one_each(unsigned workers, Arguments... arguments) {
  std::vector<std::unique_ptr<Record>> records;
  for (unsigned i = 0; i < workers; ++i) records.push_back(std::make_unique<Record>(arguments...));
  return records;
}

}  // namespace

Recorder::Recorder(unsigned workers, std::size_t outputs, bool reads_ahead)
    : trace_(workers),
      worker_logs_(one_each<WorkLog>(workers)),
      workers_(one_each<WorkerRecord>(workers, outputs)),
      stalls_(scheduler_, worker_logs_, reads_ahead) {
  stalls_.trace_into(trace_.consumer());
}

TraceLane* Recorder::add_stage(std::string name, bool keeps_slabs) {
  stalls_.add_stage(std::move(name), keeps_slabs);
  return std::exchange(has_stage_, true) ? &trace_.add_stage() : nullptr;
}

void Recorder::mark_step() {
  marks_steps_ = true;
  stalls_.mark_step(Clock::now());
  if (tracing()) begin_traced_step();
}

void Recorder::begin_traced_step() {
  if (!schedule_) return;
  traced_step_ = traced_step_ ? *traced_step_ + 1 : 0;
  trace_.record(schedule_->of(*traced_step_) == Schedule::Phase::active);
}

void Recorder::begin_trace(const std::filesystem::path& file, const TraceOptions& options) {
  if (tracing()) {
    throw Error::invalid_argument("a trace is already being recorded to " + file_->path().string() +
                                  ": end it before you begin another one");
  }
  if (options.max_events == 0) throw Error::invalid_argument("max_events must be at least 1");
  if (options.schedule) options.schedule->check();
  file_.emplace(file);
  schedule_ = options.schedule;
  traced_step_.reset();
  trace_.begin(options.max_events);
  if (!schedule_) trace_.record(true);
}

TraceSummary Recorder::end_trace(const TraceNames& names) {
  if (!tracing()) throw Error::invalid_argument("no trace is being recorded: call trace() first");
  const TraceFile file = *std::exchange(file_, std::nullopt);
  const TraceLog::Recorded recorded = trace_.end();
  file.replace([&](TextFile& text) { write_trace(text, recorded, names); });
  return {file.path(), recorded.events, recorded.dropped};
}

void Recorder::reset() {
  for (StageClock* clock : clocks_.all()) clock->reset();
  for (const auto& worker : workers_) worker->reset();
  reads_.reset();
  levels_.reset();
  stalls_.reset(Clock::now());
}

WorkerRecord::Cores Recorder::cores() const {
  WorkerRecord::Cores sum;
  for (const auto& worker : workers_) {
    const WorkerRecord::Cores cores = worker->cores();
    sum.on += cores.on;
    sum.waited += cores.waited;
  }
  return sum;
}

void Recorder::report_rows(Stats& stats, std::span<const Output> outputs,
                           const std::function<std::string_view(std::uint64_t)>& key_of) const {
  const auto sum = [&](const char* name, auto distribution) {
    Distribution all;
    for (const auto& worker : workers_) all += distribution(*worker);
    stats.histograms.emplace_back(name, all);
  };
  sum("sample", [](const WorkerRecord& worker) { return worker.work(); });
  sum("read", [](const WorkerRecord& worker) { return worker.read(); });
  sum("decode", [](const WorkerRecord& worker) { return worker.decode(); });
  sum("transform", [](const WorkerRecord& worker) { return worker.transform(); });
  for (const Output& output : outputs) stats.outputs.push_back({.name = output.name});
  SlowestRows slowest;
  for (const auto& worker : workers_) {
    worker->add_slowest(slowest);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const FillTimes spent = worker->output(i);
      stats.outputs[i].decode += spent.decode;
      stats.outputs[i].transform += spent.transform;
    }
  }
  constexpr std::size_t kRows = 1024;
  const std::size_t of_worker = (kRows + workers_.size() - 1) / workers_.size();
  for (const auto& worker : workers_) worker->add_last(of_worker, stats.last_rows);
  for (const RowTime& row : slowest.rows()) {
    stats.slowest.push_back({.key = std::string(key_of(row.sample)),
                             .output = outputs.empty() ? "" : outputs[row.output].name,
                             .sample = row.sample,
                             .epoch = row.epoch,
                             .bytes = row.bytes,
                             .read = row.read,
                             .decode = row.decode,
                             .transform = row.transform});
  }
}

void Recorder::report(Stats& stats, std::span<const Output> outputs,
                      const std::function<std::string_view(std::uint64_t)>& key_of) const {
  stalls_.report(stats);
  report_rows(stats, outputs, key_of);
  const WorkerRecord::Cores cores = this->cores();
  stats.workers_on_cores += cores.on;
  stats.workers_await_cores += cores.waited;
  for (const auto& worker : workers_) stats.workers_observed += worker->runs() ? 1U : 0U;
  stats.histograms.emplace_back("request", reads_.latency());
  stats.histograms.emplace_back("reads together", reads_.concurrency());
  stats.last_reads = reads_.last();
  stats.levels = levels_.all();
}

}  // namespace penstock
