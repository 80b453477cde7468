// The part of a pipeline that serves its consumer, in the consumer's thread.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <unistd.h>

#include <base/printable.hpp>
#include <loader/batch/record_position.hpp>
#include <loader/pipeline.hpp>
#include <loader/work/row_account.hpp>
#include <penstock/error.hpp>
#include <penstock/mixture.hpp>
#include <record/time/profiler_range.hpp>
#include <storage/read/network_file_system.hpp>

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kSlice{50};  // interval at which a wait calls while_waiting

// A state saved after an error begins with the failed batch. If the error is permanent, each restored run would stop
// there, so the message names the way to leave the sample out without losing the position.
[[noreturn]] void throw_with_remedy(const std::exception_ptr& failure, OnError policy) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    const std::string& key = error.context().key;
    const bool raises = policy == OnError::raise;
    std::string remedy = raises ? "on_error=\"replace\" or \"mark\"" : "";
    if (error.kind() == ErrorKind::io) {
      remedy.append(raises ? " and " : "")
          .append("read_options=ps.ReadOptions(unreadable=[")
          .append(double_quoted(key))
          .append("])");
    } else if (!error.is_data_fault() || !raises) {
      throw;
    }
    if (key.empty()) throw;
    throw Error(
        error.kind(),
        error.cause() + "; the restored state begins with this batch: to resume without the sample, pass " + remedy,
        error.context());
  }
}

// Data that another program has overwritten look corrupt. The error then names this cause, with the place of the
// sample.
void require_not_overwritten(const Dataset& dataset, const std::exception_ptr& failure) {
  ErrorContext place;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (!error.is_data_fault()) return;
    place = error.context();
  } catch (...) {
    return;
  }
  try {
    dataset.require_not_written_to([](std::size_t) { return true; });
  } catch (const Error& changed) {
    if (place.shard != changed.context().shard) throw;
    throw Error(changed.kind(), changed.cause(), std::move(place));
  }
}

}  // namespace

bool Pipeline::in_its_process() const {
  return ::getpid() == process_;
}

void Pipeline::require_same_process() const {
  if (in_its_process()) return;
  throw Error::invalid_argument(
      "this loader was made before fork(), so its threads run in the parent process; make a loader in this process",
      {.dataset = dataset_.path().string()});
}

// Files may change while the loader keeps them open. On a network file system, the ranks divide the shards, because
// each call may cost a message to a server.
void Pipeline::require_files_not_written_to() const {
  const std::filesystem::path* path = nullptr;  // of the dataset that the last shard belongs to
  bool divided = false;
  dataset_.require_not_written_to([&](std::size_t shard) {
    const std::filesystem::path& of_shard = dataset_.path_of_shard(shard);
    if (std::exchange(path, &of_shard) != &of_shard)
      divided = options_.world_size > 1 && !network_file_system(of_shard).empty();
    return !divided || shard % options_.world_size == options_.rank;
  });
}

std::optional<Batch> Pipeline::next(const std::function<void()>& while_waiting,
                                    const std::function<void(const Batch&)>& hand_over) {
  const ProfilerRange range("next");
  require_same_process();
  if (consumer_.cursor.at_end()) {
    require_files_not_written_to();
    if (consumer_.ledger) {  // before the epoch counts as over: a state still contains its end, or the failed batch
      consumer_.ledger->pass(consumer_.cursor.position());
      consumer_.ledger->sync();
    }
    consumer_.cursor.next_epoch();
    consumer_.iterating = false;
    consumer_.epochs_over.fetch_add(1, std::memory_order_relaxed);  // only a statistic
    recorder_.stalls().epoch_ends(Clock::now());
    return std::nullopt;
  }
  const Clock::time_point called = Clock::now();
  recorder_.called(called, [this] { return look(); });
  if (scaling_ && scaling_->decides.due(called)) adjust_workers(called);
  const Publisher::Inside inside(consumer_.publisher, called, [this] { return figures_of(stats()); });
  if (consumer_.ledger) consumer_.ledger->make_room();
  BatchResult result = await(while_waiting);
  LedgerEntry entry(consumer_.ledger ? &*consumer_.ledger : nullptr, consumer_.cursor.position());
  consumer_.cursor.advance();
  const bool restored = std::exchange(consumer_.restored, false);
  const bool failed = result.failure != nullptr;
  const bool has_bad = !failed && !result.bad.empty();
  const auto bad =
      std::ranges::count_if(result.bad, [](const BadSample& sample) { return sample.position.has_value(); });
  {
    const std::scoped_lock lock(consumer_.mutex);
    consumer_.failures.record(consumer_.cursor.position(), failed ? std::vector<BadSample>{} : std::move(result.bad),
                              failed ? result.other_failures : 0);
  }
  if (failed) require_not_overwritten(dataset_, result.failure);
  if (failed && restored) throw_with_remedy(std::exchange(result.failure, nullptr), options_.on_error);
  if (failed) std::rethrow_exception(std::exchange(result.failure, nullptr));
  require_few_failures(has_bad);
  recorder_.stalls().got_batch(result.batch.size(), result.batch.slab()->delivered_bytes(),
                               result.batch.slab()->read_bytes, Clock::now());
  if (hand_over) hand_over(result.batch);
  entry.given(static_cast<std::uint64_t>(bad));
  consumer_.cursor.delivered();
  return std::move(result.batch);
}

void Pipeline::adjust_workers(Clock::time_point now) {
  const unsigned wanted = scaling_->decides.look(work_done(), scaling_->idle.lap(), now);
  if (wanted == tasks_.callable()) return;
  try {
    workers_->use(wanted, self_.lock());
  } catch (const Error& error) {  // the loader continues with the threads that exist
    const unsigned most = workers_->started();
    scaling_->decides.limit(most, now);
    workers_->use(std::min(scaling_->decides.active(), most), self_.lock());
    const std::scoped_lock lock(notes_.mutex);
    notes_.workers = "no more than " + std::to_string(most) + " workers: " + error.what();
  }
}

BatchResult Pipeline::await(const std::function<void()>& while_waiting) {
  require_room();
  // A batch that batch_transform keeps counts only after its copy has ended, which may be after the wait began.
  const bool may_fill = options_.batch_transform && &stages_.back()->pool() != slabs_.get();
  const auto look_up = [&] {
    require_room();
    if (while_waiting) while_waiting();
  };
  std::optional<BatchResult> result;
  {
    Waiting waiting(recorder_.stalls());
    result = take(may_fill ? std::function<void()>(look_up) : while_waiting);
    if (result) waiting.got(result->journey);
  }
  if (!result) {
    throw Error::resource("no batch within " + std::to_string(options_.timeout.count()) + " ms: " + dump(),
                          {.dataset = dataset_.path().string()});
  }
  return std::move(*result);
}

// Waits in slices, so that `while_waiting` runs regularly, for example to check for signals.
std::optional<BatchResult> Pipeline::take(const std::function<void()>& while_waiting) {
  Stage& last = *stages_.back();
  if (!while_waiting) return last.take(options_.timeout);
  const auto began = Clock::now();
  for (;;) {
    std::chrono::milliseconds slice = kSlice;
    if (options_.timeout.count() > 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(began + options_.timeout - Clock::now());
      if (left.count() <= 0) return std::nullopt;
      slice = std::min(slice, left);
    }
    if (auto result = last.take(slice)) return result;
    while_waiting();
  }
}

void Pipeline::require_room() {
  const auto refuse = [&](unsigned holds, const std::string& limit) {
    throw Error::resource("the program holds " + std::to_string(holds) + " batches, as many as " + limit +
                              " allows. Batches are views of the loader's memory. Release each one before the next, "
                              "copy the values that you keep (numpy.array(), tensor.clone()), or set max_live_batches "
                              "to the number of batches that you keep (an epoch has " +
                              std::to_string(consumer_.cursor.batches_per_epoch()) + ")",
                          {.dataset = dataset_.path().string()});
  };
  BatchPool& pool = stages_.back()->pool();
  if (&pool != slabs_.get()) {  // batches that batch_transform keeps on the host must leave enough slabs in circulation
    const unsigned spare =
        std::min<unsigned>(options_.memory_options.reserved_batches, static_cast<unsigned>(slabs_->size()) - 1);
    if (const unsigned kept = slabs_->lent(); kept >= spare)
      refuse(kept, "reserved_batches=" + std::to_string(options_.memory_options.reserved_batches));
  }
  const unsigned holds = pool.lent();
  if (holds < options_.memory_options.reserved_batches) return;
  if (holds >= options_.memory_options.max_live_batches) {
    refuse(holds, options_.memory_options.max_live_batches == options_.memory_options.reserved_batches
                      ? "reserved_batches=" + std::to_string(options_.memory_options.reserved_batches)
                      : "max_live_batches=" + std::to_string(options_.memory_options.max_live_batches) +
                            " (reserved_batches=" + std::to_string(options_.memory_options.reserved_batches) + ")");
  }
  pool.allow_held(holds + 1);
}

// Checks up to the batch that was taken last.
void Pipeline::require_few_failures(bool has_bad) {
  constexpr std::uint64_t kAskEvery = 16;  // batches
  if (options_.on_error == OnError::raise) return;
  // Without the lock, so that stats() need not wait for other ranks. Only this thread changes the failures.
  if (!options_.all_reduce) {
    if (has_bad) consumer_.failures.require_within_share(consumer_.cursor.reached());
    return;
  }
  const bool ask = consumer_.cursor.position().batch % kAskEvery == 0 || consumer_.cursor.at_end();
  if (ask)
    consumer_.failures.require_within_all(options_.all_reduce(consumer_.failures.before(consumer_.cursor.reached())));
}

void Pipeline::set_epoch(std::uint64_t epoch) {
  require_same_process();
  const Position& now = consumer_.cursor.position();
  const Position first = now.first_of(epoch);
  if (now.epoch == epoch && now.start == first.start && now.batch == first.batch && now.same_order(first)) {
    consumer_.iterating = consumer_.restored = false;  // the batches that are ready are the ones wanted
    return;
  }
  go_to(first);
}

void Pipeline::begin_epoch() {
  require_same_process();
  if (consumer_.iterating) set_epoch(consumer_.cursor.position().epoch + 1);
  consumer_.iterating = true;
}

LoaderState Pipeline::state() {
  if (consumer_.ledger && in_its_process()) consumer_.ledger->sync();
  return consumer_.cursor.save(dataset_.fingerprint(), version());
}

std::string Pipeline::restore(const LoaderState& saved) {
  require_same_process();
  Restored restored = consumer_.cursor.load(saved, dataset_.fingerprint(), version());
  std::string said;
  for (const std::string& note : restored.notes) said += (said.empty() ? "the restored state " : "; it ") + note;
  go_to(restored.position);
  consumer_.restored = true;
  const std::scoped_lock lock(notes_.mutex);
  return notes_.restored = std::move(said);
}

Plan Pipeline::plan_of(const Position& at) const {
  return at.plan(plan_options_);
}

BatchResult Pipeline::filled_here(const Position& at, const Plan& plan, const DeviceShare& of_device) {
  const auto pool = std::make_shared<SlabPool>(dataset_, program().outputs(), options_.batch_size,
                                               options_.memory_options.max_items, 1, 0, nullptr, of_device);
  BatchBuilder builder(*pool->acquire({}, [] { return false; }), program().outputs().size(),
                       program().samples_of_row());
  plan.batch(at.batch, builder.rows);
  name_rows(builder, context_, at);
  builder.begin(at.seed, 0, 0);
  Worker(context_).fill_batch(builder);
  BatchResult result(builder, pool, SlabPool::To::stage);
  if (result.failure != nullptr) std::rethrow_exception(result.failure);
  return result;
}

BatchResult Pipeline::filled_by_host(const Batch& batch) {
  const Position at = position_of(*batch.slab());
  static const GpuJpeg none;
  DeviceShare share = on_device_.share;
  share.offload = offloads(on_device_.direct, none);
  BatchResult again = filled_here(at, plan_of(at), share);
  on_device_.jpeg.jpegs->count_refused();
  return again;
}

Batch Pipeline::at(std::uint64_t epoch, std::uint64_t number) {
  require_same_process();
  Position at = consumer_.cursor.position().first_of(epoch);
  at.batch = number;
  const Plan plan = plan_of(at);
  if (!plan.has(number)) {
    throw Error::invalid_argument("there is no batch " + std::to_string(number) + ": the epoch has " +
                                  std::to_string(plan.batches()) + " batches");
  }
  Batch rebuilt = filled_here(at, plan, on_device_.share).batch;
  for (const auto& stage : stages_) rebuilt = stage->apply(std::move(rebuilt));
  return rebuilt;
}

RowAccount Pipeline::explain(const Batch& batch, std::uint32_t row) const {
  require_same_process();
  if (row >= batch.size()) {
    throw Error::invalid_argument("there is no row " + std::to_string(row) + ": the batch has " +
                                  std::to_string(batch.size()) + " rows");
  }
  RowAccount account = account_for(dataset_, whole_program(), batch.slab()->context(row), options_.windows.get());
  if (!batch.sources().empty())
    account.source = options_.mixture->sources()[static_cast<std::size_t>(batch.sources()[row])].name;
  if (batch.mix() && batch.valid()[row] != 0) {
    const std::uint32_t partner = partner_of(batch.valid(), row);
    account.mix = MixAccount{*batch.mix(), partner, std::string(batch.keys()[partner])};
  }
  return account;
}

}  // namespace penstock
