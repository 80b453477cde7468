// Records for a pipeline's consumer what it does, and what its steps take.
#include <string>
#include <utility>

#include <loader/pipeline.hpp>
#include <penstock/error.hpp>
#include <record/time/trace_writer.hpp>
#include <transforms/output.hpp>

namespace penstock {

Levels Pipeline::look() const {
  return {.at = {},
          .ready = stages_.back()->ready(),
          .free_slabs = slabs_->free_slabs(),
          .tasks = tasks_.size(),
          .reading = read_record_.under_way()};
}

void Pipeline::mark_step() {
  require_same_process();
  marks_steps_ = true;
  stalls_.mark_step(Clock::now());
  if (tracing()) traced_step();
}

void Pipeline::traced_step() {
  if (!trace_schedule_) return;
  trace_step_ = trace_step_ ? *trace_step_ + 1 : 0;
  trace_.record(trace_schedule_->of(*trace_step_) == Schedule::Phase::active);
}

void Pipeline::trace(const std::filesystem::path& file, const TraceOptions& options) {
  require_same_process();
  if (tracing()) {
    throw Error::invalid_argument("a trace is being recorded already, for " + trace_file_->path().string() +
                                  ": end it before the next one begins");
  }
  if (options.max_events == 0) throw Error::invalid_argument("max_events must be at least 1");
  if (options.schedule) options.schedule->check();
  trace_file_.emplace(file);
  trace_schedule_ = options.schedule;
  trace_step_.reset();
  trace_.begin(options.max_events);
  if (!trace_schedule_) trace_.record(true);
}

// The trace is over, also where its file cannot be written.
TraceSummary Pipeline::end_trace() {
  require_same_process();
  if (!tracing()) throw Error::invalid_argument("no trace is being recorded: trace() begins one");
  const TraceFile file = *std::exchange(trace_file_, std::nullopt);
  const TraceLog::Recorded recorded = trace_.end();
  TraceNames names{.dataset = dataset_.path().string(),
                   .engine = std::string(name(engine_.engine->kind())),
                   .stages = {},
                   .outputs = {},
                   .key_of = [this](std::uint64_t sample) { return dataset_.key(sample); }};
  for (std::size_t i = 1; i < stages_.size(); ++i) names.stages.push_back(stages_[i]->name());
  for (const Output& output : program_.outputs()) names.outputs.push_back(output.name);
  file.replace([&](TextFile& text) { write_trace(text, recorded, names); });
  return {file.path(), recorded.events, recorded.dropped};
}

}  // namespace penstock
