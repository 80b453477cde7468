#include <algorithm>
#include <utility>

#include <base/caught.hpp>
#include <base/memory.hpp>
#include <loader/fetch/cells.hpp>
#include <loader/fetch/scheduler.hpp>
#include <order/serving_field.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/planned_cache.hpp>
#include <transforms/output.hpp>

namespace penstock {
namespace {

// Stored bytes per task: enough to hide the cost of scheduling, few enough to spread over workers.
constexpr std::uint64_t kTaskBytes = 128 << 10;
constexpr std::uint64_t kCopiedBytes = 512 << 10;  // bytes per task for rows from the cache and rows copied as stored
constexpr std::uint64_t kRowAlignment = 64;
// Stored bytes; a worker reads longer blocks itself when it needs them.
constexpr std::uint64_t kLongestBlock = 16 << 20;

// Delivers a batch with its failure. Rows that were not started count as finished here. The thread that finishes the
// last row does it.
void end_early(BatchBuilder& builder, const WorkerContext& context, std::uint32_t first, std::exception_ptr failure,
               Clock::time_point now) {
  const std::uint32_t rows = builder.units();
  builder.fail(first < rows ? builder.row_of(first) : 0, std::move(failure));
  Journey journey = builder.journey_of(now, now);
  journey.finished = now;
  if (rows == first || builder.finish_rows(rows - first)) {
    builder.journey = journey;
    context.reorder.put(builder);
  }
}

}  // namespace

void fill_by_workers(BatchBuilder& builder, const WorkerContext& context) {
  const std::uint32_t rows = builder.units(), share = std::max(1U, rows / (4 * context.tasks.callable()));
  std::uint32_t first = 0;
  const auto failure = caught([&] {
    while (first < rows) {
      RowTask* const task = context.row_tasks.acquire();
      task->buffer = nullptr;
      task->builder = &builder;
      task->first = first;
      task->count = std::min(share, rows - first);
      task->tasks = &context.tasks;
      task->trace = &context.recorder.request_trace();
      task->read_ahead = false;
      task->sent = Clock::now();
      first += task->count;
      context.tasks.push(*task, task->sent);
    }
  });
  if (failure != nullptr) end_early(builder, context, first, failure, Clock::now());
}

void name_rows(BatchBuilder& builder, const WorkerContext& context, const Position& position, NamedBy by) {
  const bool selected = by == NamedBy::selection;
  Slab& slab = builder.slab();
  builder.cells.clear();
  slab.begin(position.epoch, position.batch, static_cast<std::uint32_t>(builder.rows.size()));
  slab.seed = position.seed;
  slab.shuffle_block = position.shuffle_block;
  slab.start = position.start;
  slab.carried = position.carried;
  slab.composed = position.composed;
  for (std::uint32_t i = 0; i < slab.rows; ++i) {
    const Row& row = builder.rows[i];
    slab.samples[i] = selected ? context.selection.sample(row.sample) : row.sample;
    slab.occurrences[i] = selected ? context.selection.occurrence(row.sample, row.occurrence) : row.occurrence;
    slab.keys[i] = context.from.dataset.key(slab.samples[i]);
    slab.valid[i] = row.valid ? 1 : 0;
    if (context.selection.mixed) slab.sources.push_back(context.selection.mixed->source_of(row.sample));
  }
  std::vector<std::uint64_t> items;
  std::vector<Piece> pieces;
  const std::span<const Output> outputs = context.from.program.outputs();
  for (std::uint32_t o = 0; o < outputs.size(); ++o) {
    // A replacement may differ in length from the row that it replaces, so places cannot be fixed in advance.
    builder.buffered[o] =
        outputs[o].ragged && (!outputs[o].verbatim || context.options.on_error == OnError::replace) ? 1 : 0;
    if (!outputs[o].ragged || builder.buffered[o] != 0) continue;
    items.assign(slab.rows, 0);
    for (std::uint32_t i = 0; i < slab.rows; ++i) {
      const auto field = serving_field(context.from.dataset, outputs[o], slab.samples[i], pieces);
      if (field) items[i] = context.from.dataset.length(slab.samples[i], *field) / outputs[o].row_bytes();
    }
    slab.set_items(o, items);
  }
  if (context.options.windows != nullptr) plan_cells(builder, outputs, *context.options.windows, context.from.dataset);
}

Scheduler::Scheduler(WorkerContext& context, PlanOptions plan, ReadEngine& engine,
                     std::vector<std::unique_ptr<BatchBuilder>>& builders, PlannedCache* disk_cache)
    : context_(context), plan_options_(plan), engine_(engine), builders_(builders), disk_cache_(disk_cache) {}

void Scheduler::go_to(const Position& position, std::uint64_t generation) {
  {
    const std::scoped_lock lock(mutex_);
    command_ = Command{position, generation};
  }
  commanded_.notify_all();
  context_.slabs.wake();
  context_.window.wake();
}

std::optional<Scheduler::Command> Scheduler::next_command(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!commanded_.wait(lock, stop, [this] { return command_.has_value(); })) return std::nullopt;
  return std::exchange(command_, std::nullopt);
}

void Scheduler::run(std::stop_token stop) {
  while (const auto command = next_command(stop)) {
    context_.recorder.clocks().plan.input_wait.add(watch_.lap());
    sequence_ = 0;
    begins_ = true;
    feed(*command, stop);
    planned();
  }
}

void Scheduler::planned() {
  const Clock::time_point began = watch_.last();
  const nanoseconds time = watch_.lap();
  context_.recorder.clocks().plan.busy.add(time);
  context_.recorder.scheduler().add(began, Activity::plan, time);
  trace(TraceSpan::Kind::plan, began, time);
}

void Scheduler::waited(StageClock& stage, Activity::Kind kind) {
  const Clock::time_point began = watch_.last();
  const nanoseconds time = watch_.lap();
  stage.room_wait.add(time);
  context_.recorder.scheduler().add(began, kind, time);
  trace(kind == Activity::no_slab ? TraceSpan::Kind::no_slab : TraceSpan::Kind::no_room, began, time);
  context_.tasks.waits_for_room(watch_.last(), false);
}

void Scheduler::trace(TraceSpan::Kind kind, Clock::time_point began, nanoseconds took) {
  TraceLane& lane = context_.recorder.scheduler_trace();
  if (lane.on()) lane.add({.kind = kind, .begin = began, .took = took});
}

// Records the time of the slab's previous batch.
void Scheduler::trace_slot(const BatchBuilder& before, std::size_t slot) {
  TraceLane& lane = context_.recorder.scheduler_trace();
  const Journey& journey = before.journey;
  if (!lane.on() || journey.batch == 0) return;
  lane.add({.kind = TraceSpan::Kind::full,
            .lane = static_cast<std::uint32_t>(slot),
            .begin = journey.finished,
            .took = std::max(nanoseconds{}, before.slab().released - journey.finished),
            .batch = journey.batch,
            .epoch = journey.epoch,
            .number = journey.number});
}

void Scheduler::feed(const Command& command, std::stop_token stop) {
  if (asked_ != nullptr) {
    while (auto asked = asked_->next(stop)) {
      if (asked->unwanted && asked->unwanted->load()) asked->rows.resize(1);  // keeps the order
      const auto name = [&](std::vector<Row>& rows) { rows = asked->rows; };
      if (!feed_batch(asked->at, name, command.generation, stop)) return;
    }
    return;
  }
  PositionWalk walk(plan_options_, command.position);
  const auto name = [&](std::vector<Row>& rows) { walk.plan().batch(walk.at().batch, rows); };
  while (!walk.empty() && feed_batch(walk.at(), name, command.generation, stop)) walk.next();
}

bool Scheduler::feed_batch(const Position& at, const std::function<void(std::vector<Row>&)>& name_samples,
                           std::uint64_t generation, std::stop_token stop) {
  planned();
  context_.tasks.waits_for_room(watch_.last(), true);
  Slab* slab = context_.slabs.acquire(stop, [&] { return stale(generation); });
  waited(context_.recorder.clocks().plan, Activity::no_slab);
  if (slab == nullptr) return false;
  if (disk_cache_ != nullptr) disk_cache_->reached(at, std::exchange(begins_, false));
  const std::size_t slot = context_.slabs.number_of(slab);
  BatchBuilder& builder = *builders_[slot];
  trace_slot(builder, slot);
  builder.begun = watch_.last();
  slab->epoch = at.epoch;
  const auto where = [&] { return ErrorContext{.dataset = context_.from.dataset.path().string()}; };
  std::uint32_t first = 0;
  auto failure = caught([&] {
    name_samples(builder.rows);
    name_rows(builder, context_, at, asked_ != nullptr ? NamedBy::dataset : NamedBy::selection);
  });
  builder.begin(at.seed, generation, sequence_++);
  if (failure == nullptr && fill_) {
    planned();
    fill_(builder);
    return true;
  }
  const std::uint32_t rows = builder.units();
  if (failure == nullptr) {
    failure = caught([&] {
      while (first < rows) first += feed_task(builder, first, stop);
    });
  }
  flush();
  if (failure != nullptr) {
    planned();
    end_early(builder, context_, first, explained(std::move(failure), where), watch_.last());
  }
  return true;
}

// Plans rows from `first` on and returns their number. If it throws, none of them has been started.
std::uint32_t Scheduler::feed_task(BatchBuilder& builder, std::uint32_t first, std::stop_token stop) {
  RowTask* task = context_.row_tasks.acquire();
  task->buffer = nullptr;
  try {
    const std::uint32_t count = task_rows(builder, first);
    task->builder = &builder;
    task->first = first;
    task->count = count;
    task->tasks = &context_.tasks;
    task->trace = &context_.recorder.request_trace();
    task->read_ahead = !engine_.synchronous() && read_ahead(*task, stop);
    if (!task->read_ahead) {
      planned();
      task->sent = watch_.last();
      context_.tasks.push(*task, task->sent);
    }
    return count;
  } catch (...) {
    if (task->buffer != nullptr) context_.window.release(task->buffer);
    task->blocks.clear();
    context_.row_tasks.release(task);
    throw;
  }
}

// Chooses the number of rows in a task: enough to be worth scheduling, few enough that all workers share the batch.
std::uint32_t Scheduler::task_rows(BatchBuilder& builder, std::uint32_t first) {
  if (!builder.cells.empty()) return task_cells(builder, first);
  const auto total = static_cast<std::uint32_t>(builder.rows.size());
  if (context_.cache.rows_alone()) {
    const std::uint32_t most = copied_rows(), parts = (total + most - 1) / most;
    return std::min((total + parts - 1) / parts, total - first);
  }
  const std::uint32_t share = std::max(1U, total / (4 * context_.tasks.callable()));
  const bool copied = std::ranges::all_of(context_.from.program.outputs(), &Output::verbatim);
  const std::uint64_t enough = copied ? kCopiedBytes : kTaskBytes;
  const Slab& slab = builder.slab();
  std::uint64_t bytes = 0;
  std::uint32_t count = 0;
  while (first + count < total && count < share && bytes < enough) {
    for (const Output& output : context_.from.program.outputs()) {
      const std::uint64_t length = context_.from.dataset.length(slab.samples[first + count], output.sources.front());
      bytes += std::min(length, kTaskBytes);
    }
    ++count;
  }
  return count;
}

// The same for samples that fill places of windows.
std::uint32_t Scheduler::task_cells(BatchBuilder& builder, std::uint32_t first) const {
  const std::uint32_t total = builder.units(), share = std::max(1U, total / (4 * context_.tasks.callable()));
  std::uint64_t bytes = 0;
  std::uint32_t count = 0;
  while (first + count < total && count < share && bytes < kTaskBytes) {
    const Cell& cell = builder.cells[first + count];
    for (const Output& output : context_.from.program.outputs()) {
      if (output.window != builder.places[cell.first].window) continue;
      bytes += std::min(context_.from.dataset.length(cell.sample, output.sources.front()), kTaskBytes);
    }
    ++count;
  }
  return count;
}

// Copying cached rows is much cheaper than decoding, so the number does not depend on their lengths.
std::uint32_t Scheduler::copied_rows() const {
  std::uint64_t row_bytes = 1;
  for (const Output& output : context_.from.program.outputs()) row_bytes += output.row_bytes();
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kCopiedBytes / row_bytes));
}

// Returns false if the workers must read: the loader is stopped, or memory for the task's reads is not available.
bool Scheduler::read_ahead(RowTask& task, std::stop_token stop) {
  plan_reads(task);
  if (!take_window(task, stop)) return false;
  make_room_for(task);
  // Only blocks can fail from here on, and they are left to the worker.
  std::size_t next = 0;
  std::uint64_t asked = 0;
  for (std::uint32_t i = 0; i < task.count; ++i) {
    for (const Fetch::Read& read : task.fetches[i].reads()) {
      PendingRead& pending = task.reads[next++];
      requests_.push_back({read.extent, read.place.in(task.buffer + task.begins[i]), PendingRead::tag(pending)});
      asked += read.extent.length;
    }
    task.builder->set_state(task.first + i, BatchBuilder::RowState::reading);
  }
  task.builder->add_read(asked);
  for (std::uint32_t i = 0; i < task.count; ++i) {
    for (const Fetch::Special& special : task.fetches[i].specials()) {
      if (special.piece.kind == Piece::Kind::block) bring_block(special.piece.block, task);
    }
  }
  unsent_.push_back(&task);
  return true;
}

bool Scheduler::take_window(RowTask& task, std::stop_token stop) {
  const auto take = [&](auto acquire) {
    try {
      task.buffer = acquire();
      return true;
    } catch (const Error&) {
      return false;  // the worker needs memory for only one row, and its error names that row
    }
  };
  if (!take([&] { return context_.window.try_acquire(task.buffer_bytes); })) return false;
  if (task.buffer != nullptr) return true;
  flush();  // earlier plans must be in flight before this thread waits for their memory
  planned();
  context_.tasks.waits_for_room(watch_.last(), true);
  take([&] {
    return context_.window.acquire(task.buffer_bytes, stop, [&] { return stale(task.builder->generation()); });
  });
  waited(context_.recorder.clocks().read, Activity::no_room);
  return task.buffer != nullptr;
}

void Scheduler::make_room_for(RowTask& task) {
  std::size_t blocks = 0;
  for (std::uint32_t i = 0; i < task.count; ++i) blocks += task.fetches[i].specials().size();
  requests_.reserve(requests_.size() + task.reads.size() + blocks);
  unsent_.reserve(unsent_.size() + 1);
  task.blocks.reserve(blocks);
}

// Makes the task wait for its blocks, including those that another task requested. Cached blocks are not read. If one
// is evicted before the worker needs it, the worker reads it. The worker also reads the block if the window has no room
// or memory ran out. Waiting here would hold the room of the task's other blocks, and would never end if they need more
// than the whole window.
void Scheduler::bring_block(std::uint32_t number, RowTask& task) {
  const auto same = [number](const auto& read) { return read->block() == number; };
  if (std::any_of(task.blocks.begin(), task.blocks.end(), same) || context_.blocks.holds(number)) return;
  std::shared_ptr<BlockRead> read = block_reads_.find(number);
  const bool begins = read == nullptr;
  task.outstanding.fetch_add(1, std::memory_order_relaxed);  // published by flush(), like the rest of the task
  bool awaited = false;
  const auto failure = caught([&] {
    if (begins) read = begin_block(number);
    awaited = read != nullptr && read->join(task);
  });
  if (!awaited) task.outstanding.fetch_sub(1, std::memory_order_relaxed);
  if (read == nullptr || failure != nullptr) return;
  if (begins) {
    requests_.push_back(read->request());
    task.builder->add_read(requests_.back().extent.length);
  }
  task.blocks.push_back(std::move(read));
}

// Returns null if the block is too long, if there is no room for it now, or if starting it fails. The worker then
// meets the error.
std::shared_ptr<BlockRead> Scheduler::begin_block(std::uint32_t number) {
  const Extent extent = context_.from.dataset.block(number).extent;  // a mosaic has length 0; the worker assembles it
  if (extent.length == 0 || extent.length > kLongestBlock) return nullptr;
  std::byte* buffer = context_.window.try_acquire(extent.length);
  if (buffer == nullptr) return nullptr;
  std::shared_ptr<BlockRead> read;
  try {
    read = std::make_shared<BlockRead>(number, extent, context_.window, buffer);
  } catch (...) {
    context_.window.release(buffer);
    throw;
  }
  block_reads_.add(read);
  return read;
}

void Scheduler::plan_reads(RowTask& task) {
  const Slab& slab = task.builder->slab();
  if (task.fetches.size() < task.count) task.fetches.resize(task.count);
  task.begins.assign(task.count, 0);
  task.failures.assign(task.count, nullptr);
  task.reads.clear();
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < task.count; ++i) {
    const std::uint32_t unit = task.first + i;
    const bool is_row = task.builder->cells.empty();
    if (is_row) {
      slots_.of(*task.builder, context_.from.program.outputs(), unit);
    } else {
      slots_.of_places(*task.builder, context_.from.program.outputs(),
                       task.builder->places_of(task.builder->cells[unit]));
    }
    const SampleContext sample = is_row ? slab.context(unit) : context_of_cell(*task.builder, unit);
    // The worker meets a failure again and applies the error policy.
    task.failures[i] = caught([&] { task.fetches[i].plan(context_.from, sample, slots_); });
    if (task.failures[i] != nullptr) task.fetches[i] = {};
    task.begins[i] = bytes;
    bytes += (task.fetches[i].bytes() + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
    task.reads.resize(task.reads.size() + task.fetches[i].reads().size(), {&task, i});
  }
  task.buffer_bytes = bytes + kOverread;
  task.outstanding.store(static_cast<std::uint32_t>(task.reads.size()) + 1, std::memory_order_relaxed);
}

// Each task has an extra count, which is removed only after its requests are submitted. No task can complete before
// that.
void Scheduler::flush() {
  if (unsent_.empty()) return;
  planned();
  for (RowTask* task : unsent_) task->sent = watch_.last();
  context_.tasks.sent(unsent_.size(), watch_.last());
  for (const ReadRequest& request : requests_) {
    PendingRead& pending = PendingRead::of(request.tag);
    pending.record = &context_.recorder.reads();
    pending.span = context_.recorder.reads().begin(request.extent.length, watch_.last());
  }
  if (!requests_.empty()) engine_.submit(requests_);
  requests_.clear();
  for (RowTask* task : unsent_) task->arrived();
  unsent_.clear();
}

}  // namespace penstock
