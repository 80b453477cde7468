// Records the consumer's actions and step times.
#include <string>

#include <loader/pipeline.hpp>
#include <transforms/output.hpp>

namespace penstock {

Levels Pipeline::look() const {
  return {.at = {},
          .ready = stages_.back()->ready(),
          .free_slabs = slabs_->free_slabs(),
          .tasks = tasks_.size(),
          .reading = recorder_.reads().under_way()};
}

void Pipeline::mark_step() {
  require_same_process();
  recorder_.mark_step();
}

void Pipeline::trace(const std::filesystem::path& file, const TraceOptions& options) {
  require_same_process();
  recorder_.begin_trace(file, options);
}

TraceSummary Pipeline::end_trace() {
  require_same_process();
  TraceNames names{.dataset = dataset_.path().string(),
                   .engine = std::string(name(engine_.engine->kind())),
                   .stages = {},
                   .outputs = {},
                   .key_of = [this](std::uint64_t sample) { return dataset_.key(sample); }};
  for (std::size_t i = 1; i < stages_.size(); ++i) names.stages.push_back(stages_[i]->name());
  for (const Output& output : program().outputs()) names.outputs.push_back(output.name);
  return recorder_.end_trace(names);
}

}  // namespace penstock
