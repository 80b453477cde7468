#include <algorithm>
#include <chrono>
#include <utility>

#include <base/caught.hpp>
#include <base/printable.hpp>
#include <base/processor/streamed_copy.hpp>
#include <loader/batch/batch_stage.hpp>
#include <loader/batch/slab_count.hpp>
#include <loader/options/distributed_env.hpp>
#include <loader/pipeline.hpp>
#include <penstock/image.hpp>
#include <transforms/output.hpp>
#include <transforms/program/missing_rows.hpp>
#include <transforms/simd_targets.hpp>

namespace penstock {
namespace {

constexpr std::chrono::seconds kGrace{2};  // time for hung reads to return before their threads are left running

// Returns the workers' engine beside an engine that reads ahead. Workers use it for replacements, for blocks that
// were not read ahead, and for second tries.
ChosenEngine synchronous_beside(const ChosenEngine& engine, const Dataset& dataset, EngineOptions options,
                                const EngineFactory& make_engine) {
  if (engine.engine->synchronous()) return {};
  options.kind = EngineKind::in_worker;
  return make_engine(dataset, options, PendingRead::done);
}

EngineOptions with_cache(EngineOptions options, std::shared_ptr<DiskCacheUse> cache) {
  options.disk_cache = std::move(cache);
  return options;
}

// Pixels range from 0 to 1 at image.normalize(), so means and deviations above 1 are in other units.
bool in_other_units(const Step& step) {
  const auto* normalize = step.as<step::Normalize>();
  if (normalize == nullptr) return false;
  const auto beyond = [](float value) { return value > 1; };
  return std::any_of(normalize->mean.begin(), normalize->mean.end(), beyond) ||
         std::any_of(normalize->stddev.begin(), normalize->stddev.end(), beyond);
}

std::string doubts_of(const std::vector<FieldChain>& fields) {
  std::string doubts;
  for (const auto& [output, chain] : fields) {
    for (const Step& step : chain.steps) {
      if (!in_other_units(step)) continue;
      doubts += (doubts.empty() ? "output " : "; output ") + output + ": " + to_string(step) +
                " expects pixels from 0 to 1, but these means or deviations seem to be for pixels from 0 to 255; "
                "divide them by 255";
    }
  }
  return doubts;
}

std::string empty_epoch(const PlanOptions& plan) {
  if (plan.last != Last::drop || plan.samples == 0 || Plan(plan, 0).has(0)) return {};
  return "an epoch of " + std::to_string(plan.samples) + " samples has no full batch of " +
         std::to_string(plan.batch_size) +
         (plan.world > 1 ? " for each of " + std::to_string(plan.world) + " ranks" : "") +
         ", and last_batch=\"drop\" leaves out the samples; lower batch_size, or pass last_batch=\"keep\"";
}

std::string notes_on(const Dataset& dataset, const Program& program, const LoaderOptions& options,
                     const Selection& selection, const PlanOptions& plan) {
  std::string notes =
      cost_of_shuffle(dataset, program, order_options(options), options.memory_options.block_cache_bytes, selection);
  for (const std::string& note : {doubts_of(options.transforms), empty_epoch(plan)})
    if (!note.empty()) notes += (notes.empty() ? "" : "; ") + note;
  const bool counts_bad = options.on_error != OnError::raise && (options.max_error_count || options.max_error_rate < 1);
  if (options.world_size > 1 && counts_bad && !options.all_reduce) {
    notes +=
        std::string(notes.empty() ? "" : "; ") +
        "each rank counts max_errors for its own share, so ranks may raise at different batches; all_reduce makes them "
        "raise at the same one";
  }
  return notes;
}

// A cached value serves all later epochs, so every value that is not yet cached is checked.
Checksums checks_of(const LoaderOptions& options) {
  const bool keeps = options.cache.kind != CacheKind::none && options.checksums == Checksums::first;
  return keeps ? Checksums::always : options.checksums;
}

// Returns the origin for a cache that processes of the node share. Returns nothing if each has its own.
std::optional<Origin> origin_of_cache(const Dataset& dataset, const Program& program, const LoaderOptions& options) {
  if (options.cache.kind == CacheKind::none || options.cache.shared == CacheScope::process) return std::nullopt;
  return origin_of(dataset, program, options.checksums);
}

// Drops the numbers, because the order that was made of them has its copy.
std::shared_ptr<const Draws> without_numbers(Draws draws) {
  draws.numbers.reset();
  return std::make_shared<const Draws>(std::move(draws));
}

}  // namespace

Pipeline::OnDevice::OnDevice(const Dataset& dataset, const LoaderOptions& options, const Programs& programs)
    : direct(gpu_direct_of(dataset, options, programs.workers.outputs())),
      jpeg(gpu_jpeg_of(options, programs.workers.outputs())),
      share{wants_row_table(programs.outputs), direct.outputs, offloads(direct, jpeg)} {}

Pipeline::Pipeline(Dataset opened, LoaderOptions chosen, const EngineFactory& make_engine)
    : dataset_(std::move(opened)),
      options_(resolved(dataset_, std::move(chosen))),
      programs_(programs_of(dataset_, options_)),
      on_device_(dataset_, options_, programs_),
      mixer_(options_.mix, program().outputs()),
      selection_(select_samples(dataset_, program(), order_options(options_))),
      plan_options_(plan_options(order_options(options_), selection_)),
      notes_{.options = notes_on(dataset_, program(), options_, selection_, plan_options_)},
      consumer_{.cursor = Cursor(plan_options_, selection_.fingerprint(),
                                 options_.shuffle_block ? 0 : block_of_version_1(dataset_)),
                .failures = Failures({options_.max_error_rate, options_.max_error_count}, failure_shares(selection_),
                                     options_.world_size),
                .publisher = Publisher(options_.publish)},
      disk_cache_(open_planned_cache({options_.disk_cache.path, options_.disk_cache.limit}, dataset_, program(),
                                     selection_, options_.windows, plan_options_, notes_.disk_cache)),
      engine_(make_engine(dataset_, with_cache(engine_options(options_, program()), disk_cache_), PendingRead::done)),
      fallback_(synchronous_beside(engine_, dataset_, with_cache(engine_options(options_), disk_cache_), make_engine)),
      cache_(options_.cache.kind, options_.cache.limit, dataset_.size(), program(),
             origin_of_cache(dataset_, program(), options_)),
      checks_(dataset_, program(), checks_of(options_)),
      blocks_(options_.memory_options.block_cache_bytes),
      window_(options_.read_options.read_ahead_bytes),
      recorder_(options_.max_workers, program().outputs().size(), !engine_.engine->synchronous()),
      regions_(options_.sharing.name.empty() ? nullptr : std::make_shared<SharedRegions>()),
      slabs_(host_slabs()),
      reorder_(add(std::make_unique<ReorderBuffer>(slabs_, options_.workers))) {
  require_known_simd_limit();
  if (options_.sampler != nullptr) options_.sampler = without_numbers(*options_.sampler);
  from_.streams = slabs_->bytes() > last_cache_bytes() / 2;
  for (std::size_t i = 0; i < slabs_->size(); ++i) {
    builders_.push_back(
        std::make_unique<BatchBuilder>(slabs_->slab(i), program().outputs().size(), program().samples_of_row()));
  }
  lay_line();
  if (!options_.delivery_log.empty()) {
    consumer_.ledger.emplace(options_.delivery_log,
                             LedgerHeader{.state = consumer_.cursor.save(dataset_.fingerprint(), version()),
                                          .rank = options_.rank,
                                          .path = dataset_.path().string(),
                                          .on_error = std::string(name(options_.on_error)),
                                          .process = this_ledger_process()},
                             plan_options_);
  }
  if (options_.max_workers == options_.workers) return;
  const double cores = share_of_cores(cores_in_affinity_mask(), cores_online(), cpu_quota(), local_ranks());
  scaling_.emplace(options_.workers, cores, options_.max_workers, static_cast<unsigned>(slabs_->size()));
}

// Builds the chain from the dataset to next(). Every part after the workers is a Stage. To insert a new stage, add it
// here; it then appears in the stats, in the dump and in the attribution of waits.
void Pipeline::lay_line() {
  // Dataset -> Plan -> reads: names the rows of a free slab and requests their bytes
  scheduler_ = std::make_unique<Scheduler>(context_, plan_options_, *engine_.engine, builders_, disk_cache_.get());
  // with servers: they fill the rows, unless none answers
  if (!options_.servers.addresses.empty()) {
    servers_ = std::make_unique<asking::Servers>(
        context_, options_.servers,
        asking::Recipe::of(dataset_, options_, programs_.chains, program().version() + version_of(options_.mix)));
    scheduler_->fill_with([this](BatchBuilder& builder) { servers_->ask(builder); });
  }
  // reads -> rows of the slab: decodes and transforms
  workers_ = std::make_unique<WorkerPool>(options_.max_workers);
  // finished slabs -> batches in order: workers put them into reorder_
  const auto before = [this]() -> Stage& { return *stages_.back(); };
  // with sharing: batches that one loader has built for all
  if (regions_ != nullptr)
    shared_ = &add(std::make_unique<sharing::SharedStage>(before(), options_.sharing, options_.prefetch, own_part()));
  if (options_.batch_transform)
    add(std::make_unique<BatchStage>(before(), options_.batch_transform, options_.prefetch));
  if (options_.device_options.opened != nullptr) {
    const auto again = [this](const Batch& batch) { return filled_by_host(batch); };
    add(std::make_unique<DeviceCopy>(before(), slabs_, device_slabs(), options_.device_options.prefetch,
                                     DeviceTasks{on_device_.direct.reads.get(), on_device_.jpeg.jpegs.get(), again}));
  }
  // -> next(), which takes from the last of them
}

template <typename Kind>
Kind& Pipeline::add(std::unique_ptr<Kind> stage) {
  Kind& added = *stage;
  if (TraceLane* const lane = recorder_.add_stage(added.name(), added.keeps_slabs())) added.trace_into(*lane);
  stages_.push_back(std::move(stage));
  return added;
}

// The hub of a group, or else the shared stage, gives this part its positions.
sharing::Own Pipeline::own_part() {
  const auto begin = [this](const Position& at) {
    const std::uint64_t generation = ++generations_;
    reorder_.go_to(at, generation);
    scheduler_->go_to(at, generation);
    return generation;
  };
  return {.builder = {.begin = begin,
                      .take = [this](std::uint64_t generation) { return reorder_.take_of(generation); },
                      .grow = [this](std::uint64_t batches) { slabs_->grow(static_cast<unsigned>(batches)); },
                      .order = plan_options_,
                      .memory = regions_},
          .rebuild = [this](const Position& at) { return filled_here(at, plan_of(at), on_device_.share); },
          .dataset = dataset_,
          .outputs = program().outputs(),
          .loads = loads(),
          .reserved = options_.memory_options.reserved_batches};
}

// Everything that the bytes of batches depend on, without the position.
std::string Pipeline::loads() const {
  LoaderState state = consumer_.cursor.save(dataset_.fingerprint(), version());
  state.epoch = state.start = state.batch = 0;
  std::string text = state.to_json() + ", rank " + std::to_string(options_.rank) + ", on_error=\"" +
                     std::string(name(options_.on_error)) + "\", missing=" + text_of(options_.missing);
  for (const auto& [output, rows] : options_.missing_by_output) text += ", " + output + "=" + text_of(rows);
  for (const std::string& key : options_.read_options.unreadable) text += ", unreadable " + double_quoted(key);
  return text;
}

// Without a device or sharing, this pool counts the consumer's batches. With sharing, it also grows with the batches of
// other processes. Slabs that these do not need stay free, and so their memory stays untouched.
std::shared_ptr<SlabPool> Pipeline::host_slabs() const {
  const bool shares = regions_ != nullptr;
  const bool consumers = options_.device_options.opened == nullptr && !shares;
  const unsigned more = options_.memory_options.max_live_batches - options_.memory_options.reserved_batches;
  auto slabs = std::make_shared<SlabPool>(
      dataset_, program().outputs(), options_.batch_size, options_.memory_options.max_items,
      slab_count(options_, program().outputs(), ahead_by(*engine_.engine)),
      consumers ? options_.memory_options.reserved_batches : 0, options_.device_options.opened, on_device_.share,
      shares      ? slabs_to_share(options_.batch_size)
      : consumers ? more
                  : 0,
      regions_);
  if (shares) slabs->limit_ahead(slabs_ahead(options_, program().outputs(), ahead_by(*engine_.engine)));
  return slabs;
}

std::shared_ptr<DevicePool> Pipeline::device_slabs() const {
  const std::span<const Output> copied = program().outputs();
  return std::make_shared<DevicePool>(
      DeviceBatches{options_.device_options.opened,
                    dataset_,
                    {copied.begin(), copied.end()},
                    programs_.outputs,
                    options_.batch_size,
                    options_.memory_options.max_items,
                    on_device_.share,
                    on_device_.direct.reads != nullptr ? on_device_.direct.reads->reads() : nullptr},
      options_.device_options.prefetch + options_.memory_options.reserved_batches,
      options_.memory_options.reserved_batches,
      options_.memory_options.max_live_batches - options_.memory_options.reserved_batches);
}

std::string Pipeline::version() const {
  std::string text = whole_program().version() + version_of(options_.mix);
  if (on_device_.jpeg.jpegs != nullptr) text += " jpeg: " + on_device_.jpeg.said;
  return text;
}

void Pipeline::start(const std::shared_ptr<Pipeline>& pipeline, const LoaderState* at) {
  pipeline->self_ = pipeline;
  const std::stop_token stop = pipeline->stopping_.get_token();
  const Thread::Failed failed = [pipeline](const std::exception_ptr& failure) { pipeline->fail(failure); };
  // Only the threads share ownership: the pipeline owns the pool, so a callback that owned the pipeline would be a
  // cycle.
  pipeline->workers_->start(pipeline->options_.workers, pipeline, pipeline->context_,
                            [of = pipeline.get()](const std::exception_ptr& failure) { of->fail(failure); });
  pipeline->scheduler_thread_ = std::make_unique<Thread>(
      "penstock-feed", [pipeline, stop](const std::stop_token&) { pipeline->scheduler_->run(stop); }, failed);
  if (pipeline->servers_ != nullptr) pipeline->servers_->start(pipeline, failed);
  for (const auto& stage : pipeline->stages_) stage->start(pipeline, failed);
  const auto others = pipeline->shared_ != nullptr ? pipeline->shared_->join_group(at == nullptr) : std::nullopt;
  if (at != nullptr)
    pipeline->restore(*at);
  else
    pipeline->go_to(others.value_or(pipeline->consumer_.cursor.position()));
}

void Pipeline::start_asked(const std::shared_ptr<Pipeline>& pipeline, const std::shared_ptr<AskedRows>& asked) {
  pipeline->scheduler_->build(asked);
  start(pipeline);
}

std::optional<BatchResult> Pipeline::take_asked() {
  return reorder_.take_of(generations_.load());
}

void Pipeline::fail(const std::exception_ptr& failure) noexcept {
  const auto where = [this] { return ErrorContext{.dataset = dataset_.path().string()}; };
  const std::exception_ptr told = explained(failure, where);
  for (const auto& stage : stages_) stage->fail(told);
}

// Stops from the source to the sink: no new work begins, work in progress is skipped, then every thread is joined.
// Returns false if a read or a copy to a device never returned: the memory that it may write to must then stay alive.
// The same holds if its own batch_transform destroys the loader, because that thread cannot join itself. Threads that
// never started need no joining.
bool Pipeline::stop() {
  consumer_.publisher.end();
  if (consumer_.ledger) consumer_.ledger->close();
  stopping_.request_stop();
  if (fallback_.engine != nullptr) fallback_.engine->cancel();
  tasks_.close();
  if (servers_ != nullptr) servers_->close();
  for (const auto& stage : stages_) stage->close();
  slabs_->wake();
  window_.wake();
  bool ended = scheduler_thread_ == nullptr || scheduler_thread_->join_for(kGrace);
  if (servers_ != nullptr) ended &= servers_->join(kGrace);
  ended &= workers_->join_for(kGrace);
  ended &= engine_.engine->stop(kGrace);
  if (fallback_.engine != nullptr) ended &= fallback_.engine->stop(kGrace);
  for (const auto& stage : stages_) ended &= stage->join(kGrace);
  return ended;
}

// The stages get the new generation before the scheduler does, so that they never reject one of its batches.
void Pipeline::go_to(const Position& position) {
  consumer_.cursor.go_to(position);
  consumer_.iterating = consumer_.restored = false;
  const std::uint64_t generation = ++generations_;
  const bool builds = shared_ == nullptr;  // else the hub or the shared stage moves the builder
  for (const auto& stage : std::span(stages_).subspan(builds ? 0 : 1)) stage->go_to(position, generation);
  if (builds) scheduler_->go_to(position, generation);
}

}  // namespace penstock
