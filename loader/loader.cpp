// Implements what a user calls. The stages, in the order the bytes travel:
//   plan/   Plan           which sample stands in which row
//   fetch/  Scheduler      takes a slab, names its rows, asks for their bytes
//   read/   ReadEngine     brings extents
//   work/   Worker         decodes and transforms into the rows, decides what becomes of a bad sample
//   batch/  ReorderBuffer  gives batches in order, then BatchStage: the user's own step on them
//   device/ DeviceCopy     to the accelerator, where one is asked for
//   next()                 lends the batch to the consumer
#include <filesystem>
#include <string>
#include <utility>

#include <unistd.h>

#include <penstock/base/caught.hpp>
#include <penstock/base/error.hpp>
#include <penstock/base/handled_error.hpp>
#include <penstock/base/leak_until_exit.hpp>
#include <penstock/loader/loader.hpp>
#include <penstock/loader/pipeline.hpp>
#include <penstock/loader/prepare.hpp>

namespace penstock {
namespace {

// What nobody thought of is told like any other error.
std::shared_ptr<Pipeline> made(Dataset dataset, LoaderOptions options, const Loader::EngineFactory& make_engine) {
  const std::filesystem::path path = dataset.path();
  try {
    return std::make_shared<Pipeline>(std::move(dataset), std::move(options), make_engine);
  } catch (...) {
    throw handled_error({.dataset = path.string()});
  }
}

}  // namespace

Loader::Loader(Dataset dataset, LoaderOptions options)
    : Loader(std::move(dataset), std::move(options), choose_engine) {}

Loader::Loader(Dataset dataset, LoaderOptions options, EngineFactory make_engine)
    : pipeline_(made(std::move(dataset), std::move(options), make_engine)) {
  const auto failure = caught([&] { Pipeline::start(pipeline_); });
  if (failure == nullptr) return;
  if (!pipeline_->stop()) leak_until_exit(pipeline_);
  throw error_of(failure, {.dataset = pipeline_->dataset.path().string()});
}

Loader::Loader(Loader&&) noexcept = default;

Loader::~Loader() {
  if (pipeline_ == nullptr) return;
  // In a fork's child the threads to join are not there. A thread stuck in the kernel keeps what it may write to.
  if (::getpid() != pipeline_->process || !pipeline_->stop()) leak_until_exit(pipeline_);
}

std::optional<Batch> Loader::next() {
  return next({});
}

std::optional<Batch> Loader::next(const std::function<void()>& while_waiting) {
  Pipeline& pipeline = *pipeline_;
  pipeline.require_same_process();
  if (pipeline.cursor.at_end()) {
    pipeline.dataset.require_not_written_to();  // what is read through files that stay open
    pipeline.cursor.next_epoch();
    pipeline.iterating = false;
    return std::nullopt;
  }
  BatchResult result = pipeline.await(pipeline.sequence, while_waiting);
  ++pipeline.sequence;
  pipeline.cursor.advance();
  const bool failed = result.failure != nullptr;
  const bool has_bad = !failed && !result.bad.empty();
  {
    const std::scoped_lock lock(pipeline.failures_mutex);
    pipeline.failures.record(pipeline.cursor.position(), failed ? std::vector<BadSample>{} : std::move(result.bad),
                             failed ? result.other_failures : 0);
  }
  if (failed) std::rethrow_exception(std::exchange(result.failure, nullptr));
  pipeline.require_few_failures(has_bad);
  pipeline.stalls.got_batch(result.batch.size(), result.batch.slab()->delivered_bytes(), Clock::now());
  return std::move(result.batch);
}

std::uint64_t Loader::batches() const {
  return pipeline_->cursor.batches_per_epoch();
}

std::uint64_t Loader::epoch() const {
  return pipeline_->cursor.position().epoch;
}

void Loader::set_epoch(std::uint64_t epoch) {
  pipeline_->require_same_process();
  pipeline_->go_to(pipeline_->cursor.position().first_of(epoch));
}

LoaderState Loader::state() const {
  return pipeline_->cursor.save(pipeline_->dataset.fingerprint(), pipeline_->version());
}

std::string Loader::restore(const LoaderState& saved) {
  pipeline_->require_same_process();
  Restored restored = pipeline_->cursor.load(saved, pipeline_->dataset.fingerprint(), pipeline_->version());
  std::string said;
  for (const std::string& note : restored.notes) said += (said.empty() ? "the restored state " : "; it ") + note;
  pipeline_->go_to(restored.position);
  const std::scoped_lock lock(pipeline_->note_mutex);
  return pipeline_->restore_note = std::move(said);
}

Batch Loader::at(std::uint64_t epoch, std::uint64_t batch) {
  Pipeline& pipeline = *pipeline_;
  pipeline.require_same_process();
  Position at = pipeline.cursor.position().first_of(epoch);
  at.batch = batch;
  const Plan plan = pipeline.plan_of(at);
  if (batch >= plan.batches()) {
    throw Error::invalid_argument("batch " + std::to_string(batch) + " of an epoch of " +
                                  std::to_string(plan.batches()));
  }
  Batch rebuilt = pipeline.filled_here(at, plan, pipeline.share).batch;
  if (pipeline.options.on_batch) {
    Batch given = rebuilt;
    pipeline.options.on_batch(given);
    rebuilt.attach(given.attached());
  }
  if (pipeline.device != nullptr) {
    return DeviceCopy::copied(pipeline.make_device_pool(1), rebuilt, pipeline.device_tasks());
  }
  return rebuilt;
}

RowAccount Loader::explain(const Batch& batch, std::uint32_t row) const {
  if (row >= batch.size()) {
    throw Error::invalid_argument("row " + std::to_string(row) + " of a batch of " + std::to_string(batch.size()));
  }
  RowAccount account = account_for(pipeline_->dataset, pipeline_->whole_program(), batch.slab()->context(row));
  if (batch.mix() && batch.valid()[row] != 0) {
    const std::uint32_t partner = partner_of(batch.valid(), row);
    account.mix = MixAccount{*batch.mix(), partner, std::string(batch.keys()[partner])};
  }
  return account;
}

Stats Loader::stats() const {
  return pipeline_->stats();
}

void Loader::reset_stats() {
  pipeline_->reset_stats();
}

const Dataset& Loader::dataset() const {
  return pipeline_->dataset;
}

const LoaderOptions& Loader::options() const {
  return pipeline_->options;
}

void Loader::begin_epoch() {
  if (pipeline_->iterating) set_epoch(epoch() + 1);
  pipeline_->iterating = true;
}

Loader::iterator Loader::begin() {
  begin_epoch();
  return iterator(this);
}

Loader::iterator::iterator(Loader* loader) : loader_(loader), batch_(loader->next()) {}

Loader::iterator& Loader::iterator::operator++() {
  batch_.reset();  // before next(): a loop holds one batch at a time
  batch_ = loader_->next();
  return *this;
}

}  // namespace penstock
