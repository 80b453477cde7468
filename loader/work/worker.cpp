#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include <base/arena_pool.hpp>
#include <base/caught.hpp>
#include <loader/work/batch_mixer.hpp>
#include <loader/work/worker.hpp>
#include <penstock/random.hpp>
#include <record/time/profiler_range.hpp>

namespace penstock {
namespace {

constexpr const char* kThreadName = "penstock-w";
constexpr std::uint64_t kReplacements = 16;
constexpr unsigned kOwner = ~0U;  // number of the worker that has the row, among those that work on its pieces
constexpr std::uint32_t kReplacementStream = 0x5eb1ace;  // a distinct transform number for the draws of replacements

}  // namespace

Worker::Worker(WorkerContext& context, const Recorder::OfWorker& records, Parallel* parallel)
    : context_(context),
      log_(records.log),
      record_(records.rows),
      trace_(records.trace),
      filler_(context.from, context.direct, context.blocks, context.cache, context.options.memory_options.max_items,
              log_, record_ != nullptr ? &context.recorder.reads() : nullptr, parallel),
      outputs_(context.from.program.outputs().size()),
      row_outputs_(outputs_.size()),
      spent_(outputs_.size()) {}

// A codec may wait for TBB inside a row, and TBB may then run a token on this thread. Such a token is passed on to
// another worker, because this worker's state is in use.
void Worker::run_tasks() {
  if (at_work_) return context_.tasks.pass();
  at_work_ = true;
  auto taken = context_.tasks.first(idle_);
  while (taken) {
    if (!std::exchange(observed_, true)) record_->runs_here();
    take_up(taken->at, taken->no_room);
    run_task(*taken->task);
    taken = context_.tasks.another(watch_.last(), idle_);
  }
  at_work_ = false;
}

void Worker::help(SharedLoop& pieces, unsigned number) {
  if (at_work_ || !pieces.left()) return;
  at_work_ = true;
  const Clock::time_point now = Clock::now();
  take_up(now, idle_.no_room(now, context_.tasks.without_room(now)));
  pieces.join(number);
  idle_ = {watch_.last(), context_.tasks.without_room(watch_.last())};
  at_work_ = false;
}

void Worker::record_help() {
  const Clock::time_point began = watch_.last();
  const nanoseconds busy = watch_.lap();
  context_.recorder.clocks().decode.busy.add(busy);
  log_->add(began, Activity::decode, busy);
  if (traced()) trace_->add({.kind = TraceSpan::Kind::piece, .begin = began, .took = busy});
}

void Worker::take_up(Clock::time_point at, nanoseconds no_room) {
  const nanoseconds idle = watch_.lap_at(at);
  context_.recorder.clocks().decode.room_wait.add(no_room);
  context_.recorder.clocks().decode.input_wait.add(idle - no_room);
  log_->open(at);
}

nanoseconds Worker::unrecorded() const {
  const FillTimes fill = filler_.fill_times();
  return filler_.read_time() - read_ + fill.decode - decode_ + fill.transform - transform_;
}

void Worker::record(bool goes_on) {
  const Clock::time_point began = watch_.last();
  const nanoseconds busy = watch_.lap();
  const FillTimes fill = filler_.fill_times();
  ActivityTimes times{};
  times[Activity::read] = filler_.read_time() - std::exchange(read_, filler_.read_time());
  times[Activity::decode] = fill.decode - std::exchange(decode_, fill.decode);
  times[Activity::transform] =
      fill.transform - std::exchange(transform_, fill.transform) + std::exchange(mixing_, nanoseconds{});
  times[Activity::deliver] = busy - sum_of(times);
  context_.recorder.clocks().read.busy.add(times[Activity::read]);
  context_.recorder.clocks().decode.busy.add(times[Activity::decode]);
  context_.recorder.clocks().transform.busy.add(times[Activity::transform]);
  context_.reorder.clock().busy.add(times[Activity::deliver]);
  log_->add(began, times, goes_on);
  record_outputs();
  if (!context_.cache.on()) return;
  const std::uint64_t hits = filler_.hits() - std::exchange(hits_, filler_.hits());
  context_.cache.count(hits + std::exchange(copied_, 0), filler_.misses() - std::exchange(misses_, filler_.misses()));
}

void Worker::record_outputs() {
  const std::span<const FillTimes> now = filler_.output_times();
  for (std::size_t i = 0; i < now.size(); ++i) {
    const FillTimes before = std::exchange(outputs_[i], now[i]);
    spent_[i] = {.decode = now[i].decode - before.decode, .transform = now[i].transform - before.transform};
  }
  record_->outputs(spent_);
}

// Records a row that this worker has just filled, or failed to fill.
void Worker::record_row(const RowTime& before, const SampleContext& sample) {
  const FillTimes fill = filler_.fill_times();
  RowTime row{.begin = before.begin,
              .read = filler_.read_time() - before.read,
              .decode = fill.decode - before.decode,
              .transform = fill.transform - before.transform,
              .sample = sample.sample,
              .epoch = sample.epoch,
              .bytes = filler_.stored_bytes()};
  nanoseconds most{-1};
  const std::span<const FillTimes> now = filler_.output_times();
  for (std::uint32_t i = 0; i < now.size(); ++i) {
    const FillTimes earlier = std::exchange(row_outputs_[i], now[i]);
    const nanoseconds spent = now[i].decode - earlier.decode + now[i].transform - earlier.transform;
    if (spent > most) row.output = i, most = spent;
  }
  record_->row(row);
  if (traced()) trace_->add(row);
}

// Records a finished batch, whose last rows began at `began`.
void Worker::trace_batch(const BatchBuilder& builder, Clock::time_point began) {
  const Journey& journey = builder.journey;
  TraceSpan span{.kind = TraceSpan::Kind::deliver,
                 .lane = static_cast<std::uint32_t>(context_.slabs.number_of(&builder.slab())),
                 .begin = began,
                 .took = journey.finished - began,
                 .batch = journey.batch,
                 .epoch = journey.epoch,
                 .number = journey.number};
  trace_->add(span);
  span.kind = TraceSpan::Kind::filling;
  span.begin = journey.begun;
  span.took = journey.finished - journey.begun;
  trace_->add(span);
}

// Times are recorded before other threads can see the results: rows before they count as finished, and the batch
// before it is delivered. Otherwise a reader of the stats could see a batch without its times.
void Worker::run_task(RowTask& task) {
  const ProfilerRange range("rows");
  BatchBuilder& builder = *task.builder;
  const std::uint32_t first = task.first;
  const std::uint32_t count = task.count;
  Journey journey = builder.journey_of(task.sent, task.queued);
  journey.worker = log_;
  const Clock::time_point began = watch_.last();
  const bool wanted = builder.generation() == context_.reorder.generation();
  bool to_fill = wanted;
  if (wanted) {
    if (auto failure = caught([&] { copy_rows(builder, first, count); })) {
      fail_row(builder, builder.row_of(first), std::move(failure));
      to_fill = false;
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    RowTask* const ahead = task.read_ahead ? &task : nullptr;
    if (to_fill && missing_[i] != 0) run_unit(builder, first + i, ahead, i);
    builder.set_state(first + i, BatchBuilder::RowState::done);
    if (unrecorded() >= WorkLog::kShort) record(true);
  }
  if (task.buffer != nullptr) context_.window.release(task.buffer);
  task.blocks.clear();
  TraceSpan span = traced() ? task.traced(TraceSpan::Kind::task, began, began) : TraceSpan{};
  context_.row_tasks.release(
      &task);  // before the batch can be seen as finished: every task in flight belongs to an unfinished batch
  record(false);
  const Clock::time_point filled = watch_.last();
  span.took = filled - began;
  if (span.batch != 0) trace_->add(span);
  if (!builder.finish_rows(count)) return;
  if (wanted && builder.failure() == nullptr) {
    if (auto failure = caught([&] { finish(builder); })) {
      const auto where = [&] { return ErrorContext{.dataset = context_.from.dataset.path().string()}; };
      builder.fail(0, explained(std::move(failure), where));
    }
  }
  record(false);
  journey.finished = watch_.last();
  builder.journey = journey;
  if (traced()) trace_batch(builder, filled);
  context_.reorder.put(builder);
}

void Worker::fill_batch(BatchBuilder& builder) {
  const std::uint32_t units = builder.units();
  copy_rows(builder, 0, units);
  for (std::uint32_t unit = 0; unit < units; ++unit) {
    if (missing_[unit] != 0) run_unit(builder, unit, nullptr, 0);
    builder.set_state(unit, BatchBuilder::RowState::done);
    builder.finish_rows(1);
  }
  if (builder.failure() == nullptr) finish(builder);
  if (builder.failure() != nullptr) std::rethrow_exception(builder.failure());
}

void Worker::finish(BatchBuilder& builder) {
  if (!builder.cells.empty()) {
    mend_rows(builder);
    if (builder.failure() != nullptr) return;
  }
  if (!context_.mixer.empty() && !builder.rows.empty()) {
    Stopwatch watch;
    context_.mixer.run(builder.slab(), builder.seed(), builder.rows.front().position, mixed_row_);
    const Clock::time_point began = watch.last();
    const nanoseconds took = watch.lap();
    mixing_ += took;
    if (traced()) trace_->add({.kind = TraceSpan::Kind::mix, .begin = began, .took = took});
  }
  builder.slab().seal(builder.buffered);
}

// Copies whole rows that the cache has. Rows to fill in another way are marked in missing_.
void Worker::copy_rows(BatchBuilder& builder, std::uint32_t first, std::uint32_t count) {
  const SampleCache& cache = context_.cache;
  missing_.assign(count, cache.rows_alone() ? 0 : 1);
  if (!cache.rows_alone()) return;
  Slab& slab = builder.slab();
  const std::span<const std::uint64_t> samples = std::span(slab.samples).subspan(first, count);
  const auto outputs = static_cast<std::uint32_t>(context_.from.program.outputs().size());
  for (std::uint32_t output = 0; output < outputs; ++output) {
    const std::span<std::byte> rows = slab.row(output, first);
    cache.copy_rows(cache.row_of(output), samples, rows.data(), rows.size(), missing_);
  }
  for (std::uint32_t row = 0; row < count && !context_.options.read_options.unreadable.empty();
       ++row)  // another process that shares the cache may have kept it
    if (std::ranges::binary_search(context_.options.read_options.unreadable, slab.keys[first + row])) missing_[row] = 1;
  copied_ += std::uint64_t{outputs} * static_cast<std::uint64_t>(std::ranges::count(missing_, 0));
}

void Worker::run_unit(BatchBuilder& builder, std::uint32_t unit, RowTask* ahead, std::uint32_t index) {
  if (builder.cells.empty()) return run_row(builder, unit, ahead, index);
  run_cell(builder, unit, ahead, index);
}

// Every error becomes the row's failure, also in a replacement: no exception leaves the worker.
void Worker::run_row(BatchBuilder& builder, std::uint32_t row, RowTask* ahead, std::uint32_t index) {
  builder.set_state(row, BatchBuilder::RowState::decoding);
  const FillTimes fill = filler_.fill_times();
  const RowTime before{
      .begin = Clock::now(), .read = filler_.read_time(), .decode = fill.decode, .transform = fill.transform};
  const std::uint64_t asked = filler_.asked_bytes();
  auto failure = caught([&] {
    try {
      fill_row(builder, row, ahead, index);
    } catch (const Error& error) {
      if (context_.options.on_error == OnError::raise || !error.is_data_fault()) throw;
      fall_short(builder, row, builder.slab().samples[row], error);
    }
  });
  if (failure != nullptr) fail_row(builder, row, std::move(failure));
  builder.add_read(filler_.asked_bytes() - asked);
  if (record_ != nullptr) record_row(before, builder.slab().context(row));
}

void Worker::fail_row(BatchBuilder& builder, std::uint32_t row, std::exception_ptr failure) {
  const auto where = [&] {
    return ErrorContext{.dataset = context_.from.dataset.path().string(), .key = std::string(builder.slab().keys[row])};
  };
  builder.fail(row, explained(std::move(failure), where));
}

void Worker::fill_row(BatchBuilder& builder, std::uint32_t row, RowTask* ahead, std::uint32_t index) {
  if (!builder.cells.empty()) return fill_whole_row(builder, row);  // used for replacements
  const SampleContext sample = builder.slab().context(row);
  slots_.of(builder, context_.from.program.outputs(), row);
  if (ahead != nullptr && ahead->failures[index] == nullptr) {
    filler_.fill_ahead(sample, *ahead, index, slots_);
  } else {
    if (ahead != nullptr) filler_.require_another_try(sample, *ahead, index);
    filler_.read_and_fill(sample, slots_);
  }
}

void Worker::fall_short(BatchBuilder& builder, std::uint32_t row, std::uint64_t sample, const Error& error) {
  const Row& planned = builder.rows[row];
  builder.add_bad(row, {error.context().key, error.context().field, error.what(), sample, builder.slab().epoch,
                        planned.valid ? std::optional(planned.position) : std::nullopt});
  if (context_.options.on_error == OnError::mark) {
    slots_.of(builder, context_.from.program.outputs(), row);
    slots_.clear_row();
    builder.slab().valid[row] = 0;
    builder.slab().cleared[row] = 1;
    return;
  }
  std::string last;
  if (replace(builder, row, last)) return;
  throw Error(error.kind(),
              error.cause() + "; " + std::to_string(kReplacements) + " replacements failed too; the last: " + last,
              error.context());
}

// Draws another sample of the same source. The draws depend only on seed, epoch and position, so that every run
// replaces with the same sample, for any number of workers.
bool Worker::replace(BatchBuilder& builder, std::uint32_t row, std::string& last) {
  Slab& slab = builder.slab();
  Random random(builder.seed(), slab.epoch, builder.rows[row].position, kReplacementStream);
  const Selection::Range like = context_.selection.like(builder.rows[row].sample);
  for (std::uint64_t attempt = 0; attempt < kReplacements; ++attempt) {
    const std::uint64_t number = like.first + random.below(like.count);
    slab.samples[row] = context_.selection.sample(number);
    slab.occurrences[row] = context_.selection.occurrence(number, 0);
    slab.keys[row] = context_.from.dataset.key(slab.samples[row]);
    try {
      fill_row(builder, row, nullptr, 0);
      return true;
    } catch (const Error& error) {
      if (!error.is_data_fault()) throw;
      last = error.what();
    }
  }
  return false;
}

struct WorkerPool::State final : Parallel {
  explicit State(unsigned most)
      : threads(most), pool(most, [this](unsigned number) {
          if (auto failure = caught([&] { all[number]->run_tasks(); })) caught([&] { failed(failure); });
        }) {}

  // Every worker is asked to help, because a busy one may become idle before the loop ends. A token that comes too
  // late finds no piece.
  void run(std::uint32_t pieces, const std::function<void(std::uint32_t)>& body) override {
    const SharedLoop::Body run_piece = [&](unsigned helper, std::uint64_t piece, const std::stop_token&) {
      const auto failure = caught([&] { body(static_cast<std::uint32_t>(piece)); });
      if (helper != kOwner) all[helper]->record_help();
      if (failure) std::rethrow_exception(failure);
    };
    const auto loop = std::make_shared<SharedLoop>(pieces, run_piece);
    const ArenaPool::Token help = [this, loop](unsigned number) { all[number]->help(*loop, number); };
    // Nothing throws from here on, because helpers use objects of this frame.
    for (unsigned others = std::min(pieces, tasks->callable()) - 1; others > 0 && pool.enqueue(help);) --others;
    loop->join(kOwner);
    if (auto failure = loop->end()) std::rethrow_exception(failure);
  }

  const unsigned threads;
  Thread::Failed failed;
  TaskQueue* tasks = nullptr;
  std::vector<std::unique_ptr<Worker>> all;
  ArenaPool pool;  // last: its threads use the other members
};

WorkerPool::WorkerPool(unsigned most) : state_(std::make_unique<State>(most)) {}

void WorkerPool::start(unsigned workers, const std::shared_ptr<void>& keeps_alive, WorkerContext& context,
                       const Thread::Failed& failed) {
  State& state = *state_;
  state.failed = failed;
  state.tasks = &context.tasks;
  Parallel* const parallel = state.threads > 1 ? &state : nullptr;
  for (unsigned worker = 0; worker < state.threads; ++worker)
    state.all.push_back(std::make_unique<Worker>(context, context.recorder.worker(worker), parallel));
  context.tasks.call_by(
      workers, [&state] { return state.pool.enqueue(); },
      [&state] { caught([&] { state.failed(std::make_exception_ptr(std::bad_alloc())); }); });
  state.pool.start(kThreadName, keeps_alive, failed, workers);
}

void WorkerPool::use(unsigned workers, const std::shared_ptr<void>& keeps_alive) {
  State& state = *state_;
  const unsigned threads = state.pool.started();
  if (workers > threads) state.pool.start(kThreadName, keeps_alive, state.failed, workers - threads);
  state.tasks->call_at_most(workers);
}

unsigned WorkerPool::started() const {
  return state_->pool.started();
}

WorkerPool::~WorkerPool() = default;

bool WorkerPool::join_for(std::chrono::milliseconds grace) {
  return state_->pool.join_for(grace);
}

}  // namespace penstock
