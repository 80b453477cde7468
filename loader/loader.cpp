// Implements the class that users call. The stages, in the order of the data flow:
//   plan/   Plan           assigns samples to rows
//   fetch/  Scheduler      takes a slab, names its rows, requests their bytes
//   read/   ReadEngine     reads extents
//   work/   Worker         decodes and transforms into the rows, applies the error policy
//   batch/  ReorderBuffer  delivers batches in order: the first Stage
//   batch/  BatchStage     the Stage that runs batch_transform, if there is one
//   device/ DeviceCopy     the Stage that copies batches to the accelerator, if there is one
//           next()         lends the batch to the consumer
// Pipeline::lay_line() connects them. The code that workers call to decode and transform, including random crops, is
// in transforms/.
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <base/caught.hpp>
#include <base/cores.hpp>
#include <base/handled_error.hpp>
#include <base/leak_until_exit.hpp>
#include <loader/batch/sample_values.hpp>
#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <loader/model/tryout.hpp>
#include <loader/pipeline.hpp>
#include <loader/prepare.hpp>
#include <order/windows/windows.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {
namespace {

// Finds the samples of each window. If keys do not contain the order, a separate loader reads the fields that do.
std::shared_ptr<const Windows> windows_in(const Dataset& dataset, const LoaderOptions& options) {
  return windows_for(dataset, options.transforms, options.mixture.get(),
                     [&](std::span<const std::uint32_t> fields, const std::function<void(const SampleValues&)>& take) {
                       if (fields.empty()) return for_each_key(dataset, take);
                       Loader loader(dataset, reading(dataset, fields));
                       for_each_row(
                           dataset, fields, [&] { return loader.next(); }, take);
                     });
}

// Turns unexpected exceptions into an Error that names the dataset.
std::shared_ptr<Pipeline> made(Dataset dataset, LoaderOptions options, const Loader::EngineFactory& make_engine) {
  const std::filesystem::path path = dataset.path();
  try {
    if (options.windows == nullptr) options.windows = windows_in(dataset, options);
    return std::make_shared<Pipeline>(std::move(dataset), std::move(options), make_engine);
  } catch (...) {
    throw handled_error({.dataset = path.string()});
  }
}

LoaderOptions of_mixture(const Mixture& mixture, LoaderOptions options) {
  options.mixture = std::make_shared<const Mixture>(mixture);
  return options;
}

// Only for loaders on the host without a cache. Values that cannot be read or compiled now are not tried.
std::optional<CacheDemand> pixels_of(const Dataset& dataset, const LoaderOptions& options, const Stats& stats) {
  if (stats.last_rows.empty() || options.cache.kind != CacheKind::none || options.device_options.opened != nullptr)
    return {};
  try {
    return tried_pixels(dataset, compiled(dataset, options), stats.outputs, options.seed,
                        {.samples = 32, .bytes = std::uint64_t{32} << 20, .seconds = 0.1});
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Loader::Loader(Dataset dataset, LoaderOptions options)
    : Loader(std::move(dataset), std::move(options), choose_engine) {}

Loader::Loader(const Mixture& mixture, LoaderOptions options)
    : Loader(mixture.dataset(), of_mixture(mixture, std::move(options))) {}

Loader::Loader(Dataset dataset, LoaderOptions options, EngineFactory make_engine)
    : Loader(std::move(dataset), std::move(options), make_engine, nullptr) {}

Loader::Loader(Dataset dataset, LoaderOptions options, const EngineFactory& make_engine, const LoaderState* at)
    : pipeline_(made(std::move(dataset), std::move(options), make_engine)) {
  const auto failure = caught([&] { Pipeline::start(pipeline_, at); });
  if (failure == nullptr) return;
  if (!pipeline_->stop()) leak_until_exit(pipeline_);
  throw error_of(failure, {.dataset = pipeline_->dataset().path().string()});
}

Loader::Loader(Loader&&) noexcept = default;

Loader::~Loader() {
  if (pipeline_ == nullptr) return;
  if (pipeline_->in_its_process() && pipeline_->tracing()) caught([&] { pipeline_->end_trace(); });
  // A fork's child does not have the threads to join. If a thread is stuck in the kernel, the memory that it may
  // write to is leaked.
  if (!pipeline_->in_its_process() || !pipeline_->stop()) leak_until_exit(pipeline_);
}

std::optional<Batch> Loader::next() {
  return next({});
}

std::optional<Batch> Loader::next(const std::function<void()>& while_waiting,
                                  const std::function<void(const Batch&)>& hand_over) {
  return pipeline_->next(while_waiting, hand_over);
}

std::uint64_t Loader::batches() const {
  return pipeline_->cursor().batches_per_epoch();
}

std::uint64_t Loader::epoch() const {
  return pipeline_->cursor().position().epoch;
}

void Loader::set_epoch(std::uint64_t epoch) {
  pipeline_->set_epoch(epoch);
}

LoaderState Loader::state() const {
  return pipeline_->state();
}

std::string Loader::restore(const LoaderState& saved) {
  return pipeline_->restore(saved);
}

std::vector<Loader> Loader::share(unsigned consumers, SharingOptions sharing) const {
  static std::atomic<unsigned> made{0};
  LoaderOptions options = this->options();
  if (options.sampler != nullptr)
    throw Error::unsupported(
        "share() does not know the sampler's numbers any more; make each loader with the same "
        "sampler and with `sharing`",
        {.dataset = dataset().path().string()});
  if (consumers == 0) throw Error::invalid_argument("share() requires 1 consumer or more");
  if (sharing.name.empty()) sharing.name = "process " + std::to_string(::getpid()) + "-" + std::to_string(++made);
  sharing.consumers = consumers;
  options.sharing = std::move(sharing);
  const LoaderState begins = state();
  std::vector<Loader> loaders;
  for (unsigned i = 0; i < consumers; ++i) {
    LoaderOptions own = options;
    if (!own.delivery_log.empty()) own.delivery_log /= "consumer" + std::to_string(i);
    loaders.push_back(Loader(dataset(), std::move(own), choose_engine, &begins));
  }
  return loaders;
}

Batch Loader::at(std::uint64_t epoch, std::uint64_t batch) {
  return pipeline_->at(epoch, batch);
}

RowAccount Loader::explain(const Batch& batch, std::uint32_t row) const {
  return pipeline_->explain(batch, row);
}

Stats Loader::stats() const {
  return pipeline_->stats();
}

void Loader::reset_stats() {
  pipeline_->reset_stats();
}

void Loader::mark_step() {
  pipeline_->mark_step();
}

Steps Loader::steps() const {
  return pipeline_->steps();
}

void Loader::trace(const std::filesystem::path& file, const TraceOptions& options) {
  pipeline_->trace(file, options);
}

TraceSummary Loader::end_trace() {
  return pipeline_->end_trace();
}

std::vector<Gain> Loader::gains() const {
  const Stats stats = pipeline_->stats();
  if (!stats.servers.empty()) return {};  // the model knows this machine only
  const MachineModel machine{.cores = static_cast<double>(usable_cores())};
  LoaderOptions options = pipeline_->options();
  options.read_options.engine = stats.engine;
  options.workers = static_cast<unsigned>(stats.workers);
  Demands demands = demands_of(stats, machine, options.batch_size);
  demands.samples = dataset().size();
  demands.pixels = pixels_of(dataset(), options, stats);
  std::vector<Gain> gains = gains_of({std::move(demands), machine, std::move(options)});
  if (machine.cores > 1)
    for (Gain& gain : gains)
      if (gain.knob.starts_with("workers")) gain.text.insert(gain.text.find('+'), "at most ");
  return gains;
}

const Dataset& Loader::dataset() const {
  return pipeline_->dataset();
}

const LoaderOptions& Loader::options() const {
  return pipeline_->options();
}

void Loader::begin_epoch() {
  pipeline_->begin_epoch();
}

Loader::iterator Loader::begin() {
  begin_epoch();
  return iterator(this);
}

Loader::iterator::iterator(Loader* loader) : loader_(loader), batch_(loader->next()) {}

Loader::iterator& Loader::iterator::operator++() {
  batch_.reset();  // before next(), so that a loop holds only one batch at a time
  batch_ = loader_->next();
  return *this;
}

}  // namespace penstock
