#include <algorithm>
#include <string>

#include <tbb/task_arena.h>

#include <penstock/base/caught.hpp>
#include <penstock/base/error.hpp>
#include <penstock/base/thread.hpp>
#include <penstock/loader/work/worker.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kReplacements = 16;
constexpr std::uint32_t kReplacementStream = 0x5eb1ace;  // a transform number of its own for the draws of replacements

}  // namespace

Worker::Worker(Workshop& shop, WorkLog* log)
    : shop_(shop),
      log_(log),
      filler_(shop.from, shop.direct, shop.blocks, shop.cache, shop.options.max_items, shop.jpegs, log) {}

void Worker::run(std::stop_token stop) {
  bool observed = false;
  while (const std::optional<TaskQueue::Task> task = shop_.tasks.pop(stop, watch_.last())) {
    if (!std::exchange(observed, true)) shop_.workers_observed.fetch_add(1, std::memory_order_relaxed);
    take_up(*task);
    run_group(*task->group);
  }
}

void Worker::take_up(const TaskQueue::Task& task) {
  const nanoseconds idle = watch_.lap_at(task.taken);
  shop_.clocks.decode.stalled_out.add(task.no_room);
  shop_.clocks.decode.stalled_in.add(idle - task.no_room);
  log_->open(task.taken);
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
  shop_.clocks.read.busy.add(times[Activity::read]);
  shop_.clocks.decode.busy.add(times[Activity::decode]);
  shop_.clocks.transform.busy.add(times[Activity::transform]);
  shop_.clocks.deliver.busy.add(times[Activity::deliver]);
  log_->add(began, times, goes_on);
  if (!shop_.cache.on()) return;
  const std::uint64_t hits = filler_.hits() - std::exchange(hits_, filler_.hits());
  shop_.cache.count(hits + std::exchange(copied_, 0), filler_.misses() - std::exchange(misses_, filler_.misses()));
}

// Times are recorded before others can see what they were spent on: rows before they count as finished, and the batch
// before it is delivered.
void Worker::run_group(Group& group) {
  Assembly& assembly = *group.assembly;
  const std::uint32_t first = group.first;
  const std::uint32_t count = group.count;
  Journey journey{.sent = group.sent, .queued = group.queued, .worker = log_};
  const bool wanted = assembly.generation() == shop_.delivery.generation();
  bool to_fill = wanted;
  if (wanted) {
    if (auto failure = caught([&] { copy_rows(assembly, first, count); })) {
      fail_row(assembly, first, std::move(failure));
      to_fill = false;
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (to_fill && missing_[i] != 0) run_row(assembly, first + i, group.read_ahead ? &group : nullptr, i);
    assembly.set_stage(first + i, Assembly::RowStage::done);
    if (unrecorded() >= WorkLog::kShort) record(true);
  }
  if (group.buffer != nullptr) shop_.window.release(group.buffer);
  group.blocks.clear();
  shop_.groups.release(&group);  // before the batch can be seen finished: all that is in flight belongs to some batch
  record(false);
  if (!assembly.finish_rows(count)) return;
  if (wanted && assembly.failure() == nullptr) {
    if (auto failure = caught([&] { finish(assembly); })) {
      const auto where = [&] { return ErrorContext{.dataset = shop_.dataset.path().string()}; };
      assembly.fail(0, explained(std::move(failure), where));
    }
  }
  record(false);
  journey.finished = watch_.last();
  assembly.journey = journey;
  shop_.delivery.put(assembly);
}

void Worker::fill_batch(Assembly& assembly) {
  const auto rows = static_cast<std::uint32_t>(assembly.rows.size());
  copy_rows(assembly, 0, rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    if (missing_[row] != 0) run_row(assembly, row, nullptr, 0);
    assembly.set_stage(row, Assembly::RowStage::done);
    assembly.finish_rows(1);
  }
  if (assembly.failure() != nullptr) std::rethrow_exception(assembly.failure());
  finish(assembly);
}

void Worker::finish(Assembly& assembly) {
  if (!shop_.mixer.empty() && !assembly.rows.empty()) {
    Stopwatch watch;
    shop_.mixer.run(assembly.slab(), assembly.seed(), assembly.rows.front().position, mixed_row_);
    mixing_ += watch.lap();
  }
  assembly.slab().seal(assembly.staged);
}

// Where the cache has a sample's whole row, copying it is all there is to do; the others are left in missing_.
void Worker::copy_rows(Assembly& assembly, std::uint32_t first, std::uint32_t count) {
  const SampleCache& cache = shop_.cache;
  missing_.assign(count, cache.rows_alone() ? 0 : 1);
  if (!cache.rows_alone()) return;
  Slab& slab = assembly.slab();
  const std::span<const std::uint64_t> samples = std::span(slab.samples).subspan(first, count);
  const auto outputs = static_cast<std::uint32_t>(shop_.program.outputs().size());
  for (std::uint32_t output = 0; output < outputs; ++output) {
    const std::span<std::byte> rows = slab.row(output, first);
    cache.copy_rows(cache.row_of(output), samples, rows.data(), rows.size(), missing_);
  }
  copied_ += std::uint64_t{outputs} * static_cast<std::uint64_t>(std::ranges::count(missing_, 0));
}

// Whatever goes wrong, in a replacement too, becomes the row's failure: no exception leaves the worker.
void Worker::run_row(Assembly& assembly, std::uint32_t row, Group* ahead, std::uint32_t index) {
  assembly.set_stage(row, Assembly::RowStage::decoding);
  auto failure = caught([&] {
    try {
      fill_row(assembly, row, ahead, index);
    } catch (const Error& error) {
      if (shop_.options.on_error == OnError::raise || !error.is_data_fault()) throw;
      fall_short(assembly, row, error);
    }
  });
  if (failure != nullptr) fail_row(assembly, row, std::move(failure));
}

void Worker::fail_row(Assembly& assembly, std::uint32_t row, std::exception_ptr failure) {
  const auto where = [&] {
    return ErrorContext{.dataset = shop_.dataset.path().string(), .key = std::string(assembly.slab().keys[row])};
  };
  assembly.fail(row, explained(std::move(failure), where));
}

void Worker::fill_row(Assembly& assembly, std::uint32_t row, Group* ahead, std::uint32_t index) {
  const SampleContext sample = assembly.slab().context(row);
  slots_.of(assembly, shop_.program.outputs(), row);
  if (ahead != nullptr && ahead->failures[index] == nullptr) {
    filler_.fill_ahead(sample, *ahead, index, slots_);
  } else {
    filler_.read_and_fill(sample, slots_);  // also the second try of what failed to be read ahead
  }
}

void Worker::fall_short(Assembly& assembly, std::uint32_t row, const Error& error) {
  const Row& planned = assembly.rows[row];
  assembly.add_bad(row, {error.context().key, error.context().field, error.what(), assembly.slab().samples[row],
                         assembly.slab().epoch, planned.valid ? std::optional(planned.position) : std::nullopt});
  if (shop_.options.on_error == OnError::mark) {
    slots_.of(assembly, shop_.program.outputs(), row);
    slots_.clear_row();
    assembly.slab().valid[row] = 0;
    return;
  }
  std::string last;
  if (replace(assembly, row, last)) return;
  throw Error(error.kind(),
              error.cause() + "; " + std::to_string(kReplacements) + " replacements failed too; the last: " + last,
              error.context());
}

bool Worker::replace(Assembly& assembly, std::uint32_t row, std::string& last) {
  Slab& slab = assembly.slab();
  Random random(assembly.seed(), slab.epoch, assembly.rows[row].position, kReplacementStream);
  for (std::uint64_t attempt = 0; attempt < kReplacements; ++attempt) {
    const std::uint64_t place = random.below(shop_.selection.samples);
    slab.samples[row] = shop_.selection.sample(place);
    slab.occurrences[row] = shop_.selection.occurrence(place);
    slab.keys[row] = shop_.dataset.key(slab.samples[row]);
    try {
      fill_row(assembly, row, nullptr, 0);
      return true;
    } catch (const Error& error) {
      if (!error.is_data_fault()) throw;
      last = error.what();
    }
  }
  return false;
}

struct WorkerPool::State {
  unsigned workers;
  tbb::task_arena arena;
  std::vector<Thread> threads;
};

WorkerPool::WorkerPool(unsigned workers) : state_(std::make_unique<State>()) {
  state_->workers = workers;
  state_->arena.initialize(static_cast<int>(workers), workers);
}

void WorkerPool::start(const std::shared_ptr<void>& keeps_alive, Workshop& shop, const std::stop_token& stop,
                       const Thread::Failed& failed) {
  const auto work = [keeps_alive, &shop, stop, arena = &state_->arena](unsigned worker, const std::stop_token&) {
    arena->execute([&] { Worker(shop, shop.worker_logs[worker].get()).run(stop); });
  };
  start_threads(state_->threads, "penstock-w", state_->workers, work, failed);
}

WorkerPool::~WorkerPool() = default;

bool WorkerPool::join_for(std::chrono::milliseconds grace) {
  const Deadline deadline(grace);
  bool joined = true;
  for (Thread& thread : state_->threads) joined &= thread.join_for(deadline.left());
  return joined;
}

}  // namespace penstock
