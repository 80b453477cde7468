#include <algorithm>
#include <utility>

#include <unistd.h>

#include <base/caught.hpp>
#include <loader/sharing/shared_stage.hpp>
#include <penstock/error.hpp>

namespace penstock::sharing {
namespace {

constexpr std::chrono::milliseconds kAskAgain{2};  // a hub has the name and does not listen yet, or has just ended

}  // namespace

// ---- ConsumerPool ---------------------------------------------------------------------------------------------------

/// One counted batch. Owns it.
struct ConsumerPool::Loan {
  Loan(std::shared_ptr<ConsumerPool> counts, std::shared_ptr<const BatchRecord> of)
      : pool(std::move(counts)), record(std::move(of)) {
    const std::scoped_lock lock(pool->mutex_);
    pool->loans_.emplace(record.get(), this);
  }
  ~Loan() {
    const std::scoped_lock lock(pool->mutex_);
    pool->loans_.erase(record.get());
    if (with_consumer) pool->lent_.fetch_sub(1, std::memory_order_relaxed);
  }
  Loan(Loan&&) = delete;

  const std::shared_ptr<ConsumerPool> pool;
  const std::shared_ptr<const BatchRecord> record;
  bool with_consumer = false;  // guarded by the pool
};

Batch ConsumerPool::counted(const std::shared_ptr<ConsumerPool>& pool, const Batch& batch) {
  const auto loan = std::make_shared<Loan>(pool, batch.slab());
  return Batch(std::shared_ptr<const BatchRecord>(loan, loan->record.get()));
}

void ConsumerPool::hand_over(const BatchRecord* batch) {
  const std::scoped_lock lock(mutex_);
  const auto found = loans_.find(batch);
  if (found == loans_.end() || std::exchange(found->second->with_consumer, true)) return;
  lent_.fetch_add(1, std::memory_order_relaxed);
}

void ConsumerPool::allow_held(unsigned held) {
  if (held <= held_) return;
  more_(held - held_);
  held_ = held;
}

// ---- SharedStage ----------------------------------------------------------------------------------------------------

SharedStage::SharedStage(Stage& before, const SharingOptions& options, std::size_t ahead, Own own)
    : QueuedStage(before, "share", ahead, "penstock-take"),
      options_(options),
      patience_(patience_of(options)),
      own_(std::move(own)),
      pool_(std::make_shared<ConsumerPool>(own_.reserved, [this](unsigned batches) {
        own_.builder.grow(batches);
        const std::scoped_lock lock(mutex_);
        if (link_ != nullptr) link_->more(batches);
      })) {}

SharedStage::~SharedStage() = default;

std::optional<Position> SharedStage::join_group(bool anywhere) {
  connect(Group::new_one, anywhere, [] { return false; });
  return link_->suggested();
}

// Joins the hub, or becomes it. A name that is taken and does not answer belongs to a process that is about to listen,
// or has just ended.
void SharedStage::connect(Group group, bool anywhere, const std::function<bool()>& cancelled) {
  const Deadline deadline(patience_);
  const Hello hello{.loads = own_.loads,
                    .keeps = own_.reserved + std::uint64_t{2},  // in the queue, and the one that is passed on
                    .anywhere = anywhere};
  do {
    {
      const std::scoped_lock lock(mutex_);
      if (closed_) throw Error::resource("the loader is closing");
      hub_.reset();
      hub_ = Hub::open(socket_name(options_.name), options_, own_.builder, own_.loads, group == Group::new_one);
    }
    auto link = Link::join(socket_name(options_.name), hello, own_.dataset, own_.outputs, deadline.left(), cancelled);
    if (link != nullptr) {
      const std::scoped_lock lock(mutex_);
      link_ = std::move(link);
      late_ = !link_->answered();
      return;
    }
    std::this_thread::sleep_for(kAskAgain);
  } while (deadline.left() > std::chrono::milliseconds(0) && !cancelled());
  if (cancelled()) throw Error::resource("the loader is closing");
  throw Error::resource("cannot join the loaders that share batches as \"" + options_.name +
                        "\": the process that has the name does not answer");
}

bool SharedStage::is_hub() const {
  const std::scoped_lock lock(mutex_);
  return hub_ != nullptr;
}

void SharedStage::run() {
  while (const auto generation = next_generation()) {
    Position begin;
    {
      const std::scoped_lock lock(mutex_);
      begin = position_;
    }
    PositionWalk walk(own_.builder.order, begin);
    while (!walk.empty() && wait_for_room(*generation)) {
      Stopwatch watch;
      const Clock::time_point asked = watch.last();
      std::optional<BatchResult> result;
      const auto failure = caught([&] { result = fetched(walk.at(), *generation); });
      clock_.input_wait.add(watch.lap());
      if (!wants(*generation)) break;
      if (failure != nullptr) result.emplace(failure, walk.at().epoch);
      if (result->failure == nullptr) result->batch = ConsumerPool::counted(pool_, result->batch);
      if (result->journey.finished == Clock::time_point{}) result->journey.finished = asked;
      result->journey.passed.push_back(watch.last());
      if (!put(*generation, std::move(*result))) break;
      walk.next();
    }
  }
}

// Throws if the batch cannot be had; it may be asked for again.
BatchResult SharedStage::fetched(const Position& at, std::uint64_t generation) {
  constexpr int kTries = 4;  // hubs that end before they answer
  const auto cancelled = [&] { return !wants(generation); };
  for (int tries = 0; tries < kTries; ++tries) {
    if (cancelled()) break;
    if (link_ == nullptr) connect(Group::known, false, cancelled);
    Batch batch;
    const Answer answer = link_->ask(at, late_ ? std::chrono::milliseconds(0) : patience_, cancelled, batch);
    late_ = answer == Answer::late;
    switch (answer) {
      case Answer::batch:
        received_.fetch_add(1, std::memory_order_relaxed);
        return received(std::move(batch), at);
      case Answer::elsewhere:
      case Answer::late:
        return built_here(at);
      case Answer::cancelled:
        break;
      case Answer::gone:
        const std::scoped_lock lock(mutex_);
        link_ = nullptr;
    }
  }
  if (cancelled()) throw Error::resource("the loader is closing");
  return built_here(at);
}

// In the process of the hub, the waits for a batch are those for its workers.
BatchResult SharedStage::received(Batch batch, const Position& at) const {
  BatchResult result(std::move(batch));
  const std::scoped_lock lock(mutex_);
  if (hub_ != nullptr)
    if (auto journey = hub_->journey_of(at)) result.journey = std::move(*journey);
  return result;
}

// The workers of a hub build for all consumers, so its own consumer builds such a batch in this thread.
BatchResult SharedStage::built_here(const Position& at) {
  built_.fetch_add(1, std::memory_order_relaxed);
  if (is_hub()) {
    building_.reset();
    return own_.rebuild(at);
  }
  if (!building_ || key_of(building_->at()) != key_of(at)) {
    building_.emplace(own_.builder.order, at);
    own_run_ = own_.builder.begin(at);
  }
  std::optional<BatchResult> result = own_.builder.take(own_run_);
  if (!result) throw Error::resource("the loader is closing");
  building_->next();
  return std::move(*result);
}

void SharedStage::go_to(const Position& position, std::uint64_t generation) {
  {
    const std::scoped_lock lock(mutex_);
    position_ = position;
  }
  QueuedStage::go_to(position, generation);
  const std::scoped_lock lock(mutex_);
  if (link_ != nullptr) link_->wake();
}

void SharedStage::close() {
  QueuedStage::close();
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  if (link_ != nullptr) link_->wake();
  if (hub_ != nullptr) hub_->close();
}

void SharedStage::fail(const std::exception_ptr& failure) noexcept {
  QueuedStage::fail(failure);
  const std::scoped_lock lock(mutex_);
  if (link_ != nullptr) link_->wake();
  if (hub_ != nullptr) hub_->close();
}

// The builder's take() has returned, because the stages before this one are closed.
bool SharedStage::join(std::chrono::milliseconds grace) {
  if (!QueuedStage::join(grace)) return false;
  const std::scoped_lock lock(mutex_);
  link_ = nullptr;
  hub_ = nullptr;
  return true;
}

void SharedStage::report(Stats& stats) const {
  QueuedStage::report(stats);
  const std::scoped_lock lock(mutex_);
  const HubCounts hub = hub_ != nullptr ? hub_->counts() : HubCounts{};
  stats.sharing.consumers = hub.consumers;
  stats.sharing.received = received_.load(std::memory_order_relaxed);
  stats.sharing.built_alone = built_.load(std::memory_order_relaxed);
  stats.sharing.built_for_all = hub.built;
  stats.sharing.left_behind = hub.left_behind;
}

void SharedStage::reset_stats() {
  QueuedStage::reset_stats();
  received_.store(0, std::memory_order_relaxed);
  built_.store(0, std::memory_order_relaxed);
}

}  // namespace penstock::sharing

namespace penstock {

std::optional<std::string> recipe_of_sharing(const std::string& name) {
  return sharing::recipe_of(sharing::socket_name(name), sharing::patience_of({}));
}

}  // namespace penstock
