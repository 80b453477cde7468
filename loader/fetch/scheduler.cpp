#include <algorithm>

#include <penstock/base/caught.hpp>
#include <penstock/base/error.hpp>
#include <penstock/loader/fetch/scheduler.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kGroupBytes = 128 << 10;   // of stored data: enough to hide scheduling, small enough to spread
constexpr std::uint64_t kCopiedBytes = 512 << 10;  // of rows that the cache has, or that are stored as they are
constexpr std::uint64_t kRowAlignment = 64;
constexpr std::uint64_t kLongestBlock = 16 << 20;  // stored; longer ones are read by the worker that wants them

}  // namespace

void name_rows(BatchBuilder& builder, const WorkerContext& shop, const Position& position) {
  Slab& slab = builder.slab();
  slab.begin(position.epoch, position.batch, static_cast<std::uint32_t>(builder.rows.size()));
  slab.seed = position.seed;
  slab.shuffle_block = position.shuffle_block;
  slab.start = position.start;
  for (std::uint32_t i = 0; i < slab.rows; ++i) {
    const Row& row = builder.rows[i];
    slab.samples[i] = shop.selection.sample(row.sample);
    slab.occurrences[i] = shop.selection.occurrence(row.sample);
    slab.keys[i] = shop.dataset.key(slab.samples[i]);
    slab.valid[i] = row.valid ? 1 : 0;
  }
  std::vector<std::uint64_t> items;
  std::vector<Piece> pieces;
  const std::span<const Output> outputs = shop.program.outputs();
  for (std::uint32_t o = 0; o < outputs.size(); ++o) {
    // A replacement may have another length than the row it takes, so its rows cannot be placed beforehand.
    builder.staged[o] =
        outputs[o].ragged && (!outputs[o].verbatim || shop.options.on_error == OnError::replace) ? 1 : 0;
    if (!outputs[o].ragged || builder.staged[o] != 0) continue;
    items.assign(slab.rows, 0);
    for (std::uint32_t i = 0; i < slab.rows; ++i) {
      const auto field = serving_field(shop.dataset, outputs[o], slab.samples[i], pieces);
      if (field) items[i] = shop.dataset.length(slab.samples[i], *field) / outputs[o].row_bytes();
    }
    slab.set_items(o, items);
  }
}

Scheduler::Scheduler(WorkerContext& shop, PlanOptions plan, ReadEngine& engine, std::vector<std::unique_ptr<BatchBuilder>>& builders)
    : shop_(shop), plan_options_(plan), engine_(engine), builders_(builders) {}

void Scheduler::go_to(const Position& position, std::uint64_t generation) {
  {
    const std::scoped_lock lock(mutex_);
    command_ = Command{position, generation};
  }
  commanded_.notify_all();
  shop_.slabs.wake();
  shop_.window.wake();
}

std::optional<Scheduler::Command> Scheduler::next_command(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!commanded_.wait(lock, stop, [this] { return command_.has_value(); })) return std::nullopt;
  return std::exchange(command_, std::nullopt);
}

void Scheduler::run(std::stop_token stop) {
  while (const auto command = next_command(stop)) {
    shop_.clocks.plan.stalled_in.add(watch_.lap());
    sequence_ = 0;
    feed(*command, stop);
    planned();
  }
}

void Scheduler::planned() {
  const Clock::time_point began = watch_.last();
  const nanoseconds time = watch_.lap();
  shop_.clocks.plan.busy.add(time);
  shop_.scheduler_log.add(began, Activity::plan, time);
}

void Scheduler::waited(StageClock& stage, Activity::Kind kind) {
  const Clock::time_point began = watch_.last();
  const nanoseconds time = watch_.lap();
  stage.stalled_out.add(time);
  shop_.scheduler_log.add(began, kind, time);
  shop_.tasks.waits_for_room(watch_.last(), false);
}

void Scheduler::feed(const Command& command, std::stop_token stop) {
  Position at = command.position;
  while (true) {
    const Plan plan = at.plan(plan_options_);
    const bool endless_nothing = plan.batches() == 0 && at.start == 0;  // too few samples for one full batch
    if (endless_nothing) return;
    for (; at.batch < plan.batches(); ++at.batch) {
      if (!feed_batch(at, plan, command.generation, stop)) return;
    }
    at = at.first_of(at.epoch + 1);
  }
}

bool Scheduler::feed_batch(const Position& at, const Plan& plan, std::uint64_t generation, std::stop_token stop) {
  planned();
  shop_.tasks.waits_for_room(watch_.last(), true);
  Slab* slab = shop_.slabs.acquire(stop, [&] { return stale(generation); });
  waited(shop_.clocks.plan, Activity::no_slab);
  if (slab == nullptr) return false;
  BatchBuilder& builder = *builders_[shop_.slabs.number_of(slab)];
  slab->epoch = at.epoch;
  const auto where = [&] { return ErrorContext{.dataset = shop_.dataset.path().string()}; };
  std::uint32_t first = 0;
  auto failure = caught([&] {
    plan.batch(at.batch, builder.rows);
    name_rows(builder, shop_, at);
  });
  builder.begin(at.seed, generation, sequence_++);
  const auto rows = static_cast<std::uint32_t>(builder.rows.size());
  if (failure == nullptr) {
    failure = caught([&] {
      while (first < rows) first += feed_group(builder, first, stop);
    });
  }
  flush();
  if (failure != nullptr) {
    builder.fail(first, explained(std::move(failure), where));
    planned();
    const Journey journey{.sent = watch_.last(), .queued = watch_.last(), .finished = watch_.last()};
    if (rows == first || builder.finish_rows(rows - first)) {
      builder.journey = journey;
      shop_.delivery.put(builder);
    }
  }
  return true;
}

// Some rows from `first` on go their way: as many as the answer says. Where this throws, none of them has begun to.
std::uint32_t Scheduler::feed_group(BatchBuilder& builder, std::uint32_t first, std::stop_token stop) {
  RowTask* group = shop_.groups.acquire();
  group->buffer = nullptr;
  try {
    const std::uint32_t count = group_rows(builder, first);
    group->builder = &builder;
    group->first = first;
    group->count = count;
    group->tasks = &shop_.tasks;
    group->read_ahead = !engine_.synchronous() && read_ahead(*group, stop);
    if (!group->read_ahead) {
      planned();
      group->sent = watch_.last();
      shop_.tasks.push(*group, group->sent);
    }
    return count;
  } catch (...) {
    if (group->buffer != nullptr) shop_.window.release(group->buffer);
    group->blocks.clear();
    shop_.groups.release(group);
    throw;
  }
}

// As many rows as make a worthwhile task, yet few enough that every worker has some of the batch.
std::uint32_t Scheduler::group_rows(BatchBuilder& builder, std::uint32_t first) {
  const auto total = static_cast<std::uint32_t>(builder.rows.size());
  if (shop_.cache.rows_alone()) {
    const std::uint32_t most = copied_rows(), groups = (total + most - 1) / most;
    return std::min((total + groups - 1) / groups, total - first);
  }
  const std::uint32_t share = std::max(1U, total / (4 * shop_.options.workers));
  const bool copied = std::ranges::all_of(shop_.program.outputs(), &Output::verbatim);
  const std::uint64_t enough = copied ? kCopiedBytes : kGroupBytes;
  const Slab& slab = builder.slab();
  std::uint64_t bytes = 0;
  std::uint32_t count = 0;
  while (first + count < total && count < share && bytes < enough) {
    for (const Output& output : shop_.program.outputs()) {
      const std::uint64_t length = shop_.dataset.length(slab.samples[first + count], output.sources.front());
      bytes += std::min(length, kGroupBytes);
    }
    ++count;
  }
  return count;
}

// Rows that the cache has are copied: much less work than decoding, for which no length is worth a look.
std::uint32_t Scheduler::copied_rows() const {
  std::uint64_t row_bytes = 1;
  for (const Output& output : shop_.program.outputs()) row_bytes += output.row_bytes();
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kCopiedBytes / row_bytes));
}

// False where the workers are to read themselves: the loader is stopped, or there is no memory for that much at once.
bool Scheduler::read_ahead(RowTask& group, std::stop_token stop) {
  plan_reads(group);
  if (!take_window(group, stop)) return false;
  make_room_for(group);
  // From here on nothing fails, but blocks, which are left to the worker then.
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < group.count; ++i) {
    for (const Fetch::Read& read : group.fetches[i].reads()) {
      PendingRead& pending = group.reads[next++];
      std::byte* destination = read.slot != nullptr ? read.slot : group.buffer + group.begins[i] + read.offset;
      requests_.push_back({read.extent, destination, PendingRead::tag(pending)});
    }
    group.builder->set_stage(group.first + i, BatchBuilder::RowStage::reading);
  }
  for (std::uint32_t i = 0; i < group.count; ++i) {
    for (const Fetch::Special& special : group.fetches[i].specials()) {
      if (special.piece.kind == Piece::Kind::block) bring_block(special.piece.block, group);
    }
  }
  unsent_.push_back(&group);
  return true;
}

bool Scheduler::take_window(RowTask& group, std::stop_token stop) {
  const auto take = [&](auto acquire) {
    try {
      group.buffer = acquire();
      return true;
    } catch (const Error&) {
      return false;  // a worker needs such memory for one row alone, and tells which row it is where there is none
    }
  };
  if (!take([&] { return shop_.window.try_acquire(group.buffer_bytes); })) return false;
  if (group.buffer != nullptr) return true;
  flush();  // what was planned so far must be under way before waiting for its memory
  planned();
  shop_.tasks.waits_for_room(watch_.last(), true);
  take([&] {
    return shop_.window.acquire(group.buffer_bytes, stop, [&] { return stale(group.builder->generation()); });
  });
  waited(shop_.clocks.read, Activity::no_room);
  return group.buffer != nullptr;
}

void Scheduler::make_room_for(RowTask& group) {
  std::size_t blocks = 0;
  for (std::uint32_t i = 0; i < group.count; ++i) blocks += group.fetches[i].specials().size();
  requests_.reserve(requests_.size() + group.reads.size() + blocks);
  unsent_.reserve(unsent_.size() + 1);
  group.blocks.reserve(blocks);
}

// The group waits for its blocks, whoever asked for them. Those that the cache holds are not read; should one be gone
// by then, the worker reads it, as it does where the window has no room now, or memory ran out: waiting here would keep
// the room that the group's other blocks have.
void Scheduler::bring_block(std::uint32_t number, RowTask& group) {
  const auto same = [number](const auto& read) { return read->block() == number; };
  if (std::any_of(group.blocks.begin(), group.blocks.end(), same) || shop_.blocks.holds(number)) return;
  std::shared_ptr<BlockRead> read = block_reads_.find(number);
  const bool begins = read == nullptr;
  group.outstanding.fetch_add(1, std::memory_order_relaxed);  // published by flush(), as all of the group
  bool awaited = false;
  const auto failure = caught([&] {
    if (begins) read = begin_block(number);
    awaited = read != nullptr && read->join(group);
  });
  if (!awaited) group.outstanding.fetch_sub(1, std::memory_order_relaxed);
  if (read == nullptr || failure != nullptr) return;
  if (begins) requests_.push_back(read->request());
  group.blocks.push_back(std::move(read));
}

// Null where it is too long, where there is no room for it now, or where the worker will meet what is wrong with it.
std::shared_ptr<BlockRead> Scheduler::begin_block(std::uint32_t number) {
  const Extent extent = shop_.dataset.block(number).extent;  // of no length: a mosaic, which the worker puts together
  if (extent.length == 0 || extent.length > kLongestBlock) return nullptr;
  std::byte* buffer = shop_.window.try_acquire(extent.length);
  if (buffer == nullptr) return nullptr;
  std::shared_ptr<BlockRead> read;
  try {
    read = std::make_shared<BlockRead>(number, extent, shop_.window, buffer);
  } catch (...) {
    shop_.window.release(buffer);
    throw;
  }
  block_reads_.add(read);
  return read;
}

void Scheduler::plan_reads(RowTask& group) {
  const Slab& slab = group.builder->slab();
  if (group.fetches.size() < group.count) group.fetches.resize(group.count);
  group.begins.assign(group.count, 0);
  group.failures.assign(group.count, nullptr);
  group.reads.clear();
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < group.count; ++i) {
    const std::uint32_t row = group.first + i;
    slots_.of(*group.builder, shop_.program.outputs(), row);
    // The worker meets a failure again, and applies the policy.
    group.failures[i] = caught([&] {
      group.fetches[i].plan(shop_.from, slab.context(row), slots_.verbatim, slots_.places);
    });
    if (group.failures[i] != nullptr) group.fetches[i] = {};
    group.begins[i] = bytes;
    bytes += (group.fetches[i].bytes() + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
    group.reads.resize(group.reads.size() + group.fetches[i].reads().size(), {&group, i});
  }
  group.buffer_bytes = bytes + kOverread;
  group.outstanding.store(static_cast<std::uint32_t>(group.reads.size()) + 1, std::memory_order_relaxed);
}

// The extra count of each group is taken off only after its requests are handed over: none can be complete before.
void Scheduler::flush() {
  if (unsent_.empty()) return;
  planned();
  for (RowTask* group : unsent_) group->sent = watch_.last();
  shop_.tasks.sent(unsent_.size(), watch_.last());
  if (!requests_.empty()) engine_.submit(requests_);
  requests_.clear();
  for (RowTask* group : unsent_) group->arrived();
  unsent_.clear();
}

}  // namespace penstock
