#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <unistd.h>

#include <penstock/base/caught.hpp>
#include <penstock/base/error.hpp>
#include <penstock/loader/pipeline.hpp>
#include <penstock/loader/prepare.hpp>
#include <penstock/loader/read/streamed_copy.hpp>

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kSlice{50};  // of a wait that somebody wants to look up from
constexpr std::chrono::seconds kGrace{2};        // for reads that never come back, before their threads are left behind

// What workers read with where the engine reads ahead of them: replacements, blocks that were not read ahead, second
// tries.
ChosenEngine synchronous_beside(const ChosenEngine& engine, const Dataset& dataset, EngineOptions options,
                                const Loader::EngineFactory& make_engine) {
  if (engine.engine->synchronous()) return {};
  options.kind = EngineKind::in_worker;
  return make_engine(dataset, options, PendingRead::done);
}

std::string notes_on(const Dataset& dataset, const Program& program, const LoaderOptions& options,
                     const Selection& selection) {
  std::string notes = cost_of_shuffle(dataset, program, options, selection);
  const bool counts_bad = options.on_error != OnError::raise && options.max_error_rate < 1;
  if (options.world > 1 && counts_bad && !options.sum_over_ranks) {
    notes +=
        std::string(notes.empty() ? "" : "; ") +
        "each rank minds max_error_rate for its own share, so ranks may raise at different batches; sum_over_ranks "
        "makes them raise at the same one";
  }
  return notes;
}

WorkLogs work_logs(unsigned workers) {
  WorkLogs logs;
  for (unsigned i = 0; i < workers; ++i) logs.push_back(std::make_unique<WorkLog>());
  return logs;
}

StallAttribution::Terms terms_of(const LoaderOptions& options, const ReadEngine& engine) {
  return {.reads_ahead = !engine.synchronous(),
          .on_batch = options.on_batch ? std::optional(options.on_batch_stage) : std::nullopt,
          .copies = options.on_device != nullptr};
}

// What a cache takes serves all later epochs, so each value is checked that it does not have.
Checksums checks_of(const LoaderOptions& options) {
  const bool keeps = options.cache != CacheKind::none && options.checksums == Checksums::first;
  return keeps ? Checksums::always : options.checksums;
}

}  // namespace

Pipeline::Pipeline(Dataset opened, LoaderOptions chosen, const Loader::EngineFactory& make_engine)
    : dataset(std::move(opened)),
      options(resolved(dataset, std::move(chosen))),
      device(options.on_device),
      programs(programs_of(dataset, options)),
      direct(gpu_direct_of(dataset, options, program.outputs())),
      jpeg(gpu_jpeg_of(options, program.outputs())),
      share{wants_row_table(programs.outputs), direct.outputs, jpeg.outputs},
      mixer(options.mix, program.outputs()),
      selection(select_samples(dataset, program, options)),
      option_notes(notes_on(dataset, program, options, selection)),
      cursor(plan_options(options, selection), selection.fingerprint(),
             options.shuffle_block ? 0 : block_of_version_1(dataset)),
      engine(make_engine(dataset, engine_options(options, program), PendingRead::done)),
      fallback(synchronous_beside(engine, dataset, engine_options(options), make_engine)),
      cache(options.cache, options.cache_bytes, dataset.size(), program),
      checks(dataset, program, checks_of(options)),
      blocks(options.block_cache),
      window(options.read_window),
      worker_logs(work_logs(options.workers)),
      slabs(std::make_shared<SlabPool>(dataset, program.outputs(), options.batch_size, options.max_items,
                                       slab_count(options, program.outputs(), !engine.engine->synchronous()),
                                       device == nullptr ? options.held : 0, device, share,
                                       device == nullptr ? options.held_max - options.held : 0)),
      reorder(slabs),
      failures(options.max_error_rate, selection.samples, options.world),
      stalls(scheduler_log, worker_logs, terms_of(options, *engine.engine), Clock::now()) {
  from.streams = slabs->bytes() > last_cache_bytes() / 2;
  for (std::size_t i = 0; i < slabs->size(); ++i) {
    builders.push_back(std::make_unique<BatchBuilder>(slabs->slab(i), program.outputs().size()));
  }
  if (options.on_batch) {
    batch_stage = std::make_unique<BatchStage>(reorder, slabs, options.on_batch, options.prefetch, clocks.on_batch);
  }
  if (device != nullptr) {
    device_slabs =
        make_device_pool(options.device_prefetch + options.held, options.held, options.held_max - options.held);
    device_copy = std::make_unique<DeviceCopy>(
        device_slabs, slabs,
        [this](std::uint64_t generation, std::uint64_t number) { return next_of(generation, number); },
        options.device_prefetch, clocks, device_tasks());
  }
  scheduler = std::make_unique<Scheduler>(context, plan_options(options, selection), *engine.engine, builders);
}

std::shared_ptr<DevicePool> Pipeline::make_device_pool(unsigned count, unsigned held, unsigned more) const {
  return std::make_shared<DevicePool>(device, dataset, program.outputs(), programs.outputs, options.batch_size,
                                      options.max_items, count, share,
                                      direct.reads != nullptr ? direct.reads->reads() : nullptr, held, more);
}

DeviceTasks Pipeline::device_tasks() {
  const auto filled_by_host = [this](const Batch& batch) {
    const BatchRecord& record = *batch.slab();
    const Position at{.seed = record.seed,
                      .shuffle_block = record.shuffle_block,
                      .epoch = record.epoch,
                      .start = record.start,
                      .batch = record.number};
    BatchResult again = filled_here(at, plan_of(at), {.row_table = share.row_table, .reads = share.reads});
    jpeg.jpegs->count_refused();
    return again;
  };
  return {.reads = direct.reads.get(), .jpegs = jpeg.jpegs.get(), .filled_by_host = filled_by_host};
}

Plan Pipeline::plan_of(const Position& at) const {
  return at.plan(plan_options(options, selection));
}

BatchResult Pipeline::filled_here(const Position& at, const Plan& plan, const DeviceShare& of_device) {
  const auto pool = std::make_shared<SlabPool>(dataset, program.outputs(), options.batch_size, options.max_items, 1, 0,
                                               nullptr, of_device);
  BatchBuilder builder(*pool->acquire({}, [] { return false; }), program.outputs().size());
  plan.batch(at.batch, builder.rows);
  name_rows(builder, context, at);
  builder.begin(at.seed, 0, 0);
  Worker(context).fill_batch(builder);
  BatchResult result(builder, pool, SlabPool::To::stage);
  if (result.failure != nullptr) std::rethrow_exception(result.failure);
  return result;
}

std::string Pipeline::version() const {
  std::string text = whole_program().version() + version_of(options.mix);
  if (jpeg.jpegs != nullptr) text += " jpeg: " + jpeg.said;
  return text;
}

void Pipeline::start(const std::shared_ptr<Pipeline>& pipeline) {
  const std::stop_token stop = pipeline->stopping.get_token();
  const Thread::Failed failed = [pipeline](const std::exception_ptr& failure) { pipeline->fail(failure); };
  const auto begin = [&](std::unique_ptr<Thread>& thread, const std::string& name, std::function<void()> body) {
    thread = std::make_unique<Thread>(
        name, [body = std::move(body)](const std::stop_token&) { body(); }, failed);
  };
  pipeline->workers = std::make_unique<WorkerPool>(pipeline->options.workers);
  pipeline->workers->start(pipeline, pipeline->context, stop, failed);
  begin(pipeline->scheduler_thread, "penstock-feed", [pipeline, stop] { pipeline->scheduler->run(stop); });
  if (pipeline->batch_stage != nullptr) {
    begin(pipeline->batch_thread, "penstock-batch", [pipeline] { pipeline->batch_stage->run(); });
  }
  if (pipeline->direct.reads != nullptr) {
    start_threads(
        pipeline->direct_threads, "gds-", pipeline->direct.reads->threads(),
        [pipeline](unsigned, const std::stop_token&) { pipeline->direct.reads->run(); }, failed);
  }
  if (pipeline->device_copy != nullptr) {
    begin(pipeline->settle_thread, "penstock-settle", [pipeline] { pipeline->device_copy->settle(); });
    begin(pipeline->copy_thread, "penstock-copy", [pipeline] { pipeline->device_copy->run(); });
  }
  pipeline->go_to(pipeline->cursor.position());
}

void Pipeline::fail(const std::exception_ptr& failure) noexcept {
  const auto where = [this] { return ErrorContext{.dataset = dataset.path().string()}; };
  const std::exception_ptr told = explained(failure, where);
  reorder.close(told);
  if (batch_stage != nullptr) batch_stage->fail(told);
  if (device_copy != nullptr) device_copy->fail(told);
}

// From the source to the sink: nothing new begins, what is under way is skipped, then every thread is joined.
// False when some read, or some copy to a device, never came back: what it may still write to must then live on. So it
// must where the loader is destroyed by its own on_batch, which cannot wait for itself. Threads that were never started
// need no joining.
bool Pipeline::stop() {
  reorder.begin_generation();
  stopping.request_stop();
  slabs->wake();
  window.wake();
  tasks.close();
  reorder.close();
  if (batch_stage != nullptr) batch_stage->close();
  if (device_copy != nullptr) device_copy->close();
  if (direct.reads != nullptr) direct.reads->close();
  const auto join = [](const std::unique_ptr<Thread>& thread) { return !thread || thread->join_for(kGrace); };
  bool ended = join(scheduler_thread);
  ended &= !workers || workers->join_for(kGrace);
  ended &= engine.engine->stop(kGrace);
  if (batch_thread != nullptr) {
    if (batch_stage->runs_here()) {
      ended &= batch_thread->join_for({});
    } else {
      batch_thread->join();  // however long it takes: it uses what belongs to the user
    }
  }
  if (device_copy != nullptr) {
    if (copy_thread == nullptr) device_copy->end();
    ended &= join(copy_thread);
    ended &= join(settle_thread);
  }
  const Deadline deadline(kGrace);
  for (Thread& thread : direct_threads) ended &= thread.join_for(deadline.left());
  return ended;
}

void Pipeline::go_to(const Position& position) {
  cursor.go_to(position);
  sequence = 0;
  iterating = false;
  const std::uint64_t generation = reorder.begin_generation();
  if (batch_stage != nullptr) batch_stage->go_to(generation);
  if (device_copy != nullptr) device_copy->go_to(generation);
  scheduler->go_to(position, generation);
}

void Pipeline::require_same_process() const {
  if (::getpid() == process) return;
  throw Error::invalid_argument(
      "this loader was made before fork(): its threads live in the parent; make one in this process",
      {.dataset = dataset.path().string()});
}

std::optional<BatchResult> Pipeline::take(std::uint64_t number, std::chrono::milliseconds timeout) {
  if (device_copy != nullptr) return device_copy->take(timeout);
  if (batch_stage != nullptr) return batch_stage->take(timeout);
  BatchBuilder* builder = reorder.take(number, timeout);
  if (builder == nullptr) return std::nullopt;
  return BatchResult(*builder, slabs, SlabPool::To::consumer);
}

// For the copy stage, from the stage before it.
std::optional<BatchResult> Pipeline::next_of(std::uint64_t generation, std::uint64_t number) {
  if (batch_stage != nullptr) return batch_stage->take_of(generation);
  BatchBuilder* builder = reorder.take_of(generation, number);
  if (builder == nullptr) return std::nullopt;
  return BatchResult(*builder, slabs, SlabPool::To::stage);
}

// With a device, slabs of the host are only those that the user's own step kept.
unsigned Pipeline::lent() const {
  return device_slabs == nullptr ? slabs->lent() : std::max(slabs->lent(), device_slabs->lent());
}

std::optional<BatchResult> Pipeline::take(std::uint64_t number, const std::function<void()>& while_waiting) {
  if (!while_waiting) return take(number, options.timeout);
  const auto began = Clock::now();
  for (;;) {
    std::chrono::milliseconds slice = kSlice;
    if (options.timeout.count() > 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(began + options.timeout - Clock::now());
      if (left.count() <= 0) return std::nullopt;
      slice = std::min(slice, left);
    }
    if (auto result = take(number, slice)) return result;
    while_waiting();
  }
}

// Behind the batch that was taken last.
void Pipeline::require_few_failures(bool has_bad) {
  constexpr std::uint64_t kAskEvery = 16;  // batches
  if (options.on_error == OnError::raise) return;
  // Without the lock: stats() need not wait for other ranks. Only this thread changes the failures.
  const std::uint64_t bad = failures.before(cursor.reached());
  if (!options.sum_over_ranks) {
    if (has_bad) failures.require_within_share(bad);
    return;
  }
  const bool ask = cursor.position().batch % kAskEvery == 0 || cursor.at_end();
  if (ask) failures.require_within_all(options.sum_over_ranks(bad));
}

void Pipeline::require_room() {
  const auto refuse = [&](unsigned holds, const std::string& limit) {
    throw Error::resource("the program holds " + std::to_string(holds) + " batches, as many as " + limit +
                              " allows: let go of some, keep copies of what you need of them (tensor.clone()), or "
                              "give held_max a higher number",
                          {.dataset = dataset.path().string()});
  };
  if (device_slabs != nullptr) {  // what on_batch keeps on the host must leave slabs to go round
    const unsigned spare = std::min<unsigned>(options.held, static_cast<unsigned>(slabs->size()) - 1);
    if (const unsigned kept = slabs->lent(); kept >= spare) refuse(kept, "held = " + std::to_string(options.held));
  }
  const unsigned holds = device_slabs == nullptr ? slabs->lent() : device_slabs->lent();
  if (holds < options.held) return;
  if (holds >= options.held_max) {
    refuse(holds, options.held_max == options.held ? "held = " + std::to_string(options.held)
                                                   : "held_max = " + std::to_string(options.held_max) +
                                                         " (held = " + std::to_string(options.held) + ")");
  }
  if (device_slabs != nullptr) {
    device_slabs->allow_held(holds + 1);
  } else {
    slabs->allow_held(holds + 1);
  }
}

BatchResult Pipeline::await(std::uint64_t number, const std::function<void()>& while_waiting) {
  require_room();
  // What on_batch keeps counts only when its copy is over, which may be after the wait began.
  const bool may_fill = device_copy != nullptr && batch_stage != nullptr;
  const auto look_up = [&] {
    require_room();
    if (while_waiting) while_waiting();
  };
  std::optional<BatchResult> result;
  {
    Waiting waiting(stalls);
    result = take(number, may_fill ? std::function<void()>(look_up) : while_waiting);
    if (result) waiting.got(result->journey);
  }
  if (!result) {
    throw Error::resource("no batch within " + std::to_string(options.timeout.count()) + " ms: " + dump(),
                          {.dataset = dataset.path().string()});
  }
  return std::move(*result);
}

}  // namespace penstock
