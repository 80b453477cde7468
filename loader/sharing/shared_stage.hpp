// The stage of a loader that shares its batches. The stage gets each batch from the hub of its group. If the hub does
// not have the batch, the loader's own workers build it.
//
// The first loader of a group becomes the hub. When a hub ends, however it ends, the next loader that asks takes the
// name over and builds from its own position on. A name is a socket, so it ends with its process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <loader/batch/batch_pool.hpp>
#include <loader/batch/queued_stage.hpp>
#include <loader/batch/slab.hpp>
#include <loader/sharing/hub.hpp>
#include <loader/sharing/link.hpp>
#include <order/position_walk.hpp>
#include <penstock/options.hpp>

namespace penstock::sharing {

/// Counts the batches that the consumer holds, wherever they were built.
class ConsumerPool final : public BatchPool {
 public:
  ConsumerPool(unsigned reserved, std::function<void(unsigned)> more) : held_(reserved), more_(std::move(more)) {}

  /// Returns a batch that the pool can count.
  static Batch counted(const std::shared_ptr<ConsumerPool>& pool, const Batch& batch);
  unsigned lent() const override { return lent_.load(std::memory_order_relaxed); }
  void hand_over(const BatchRecord* batch) override;
  void allow_held(unsigned held) override;
  std::uint64_t bytes_to_add() const override { return 0; }

 private:
  struct Loan;
  unsigned held_;
  const std::function<void(unsigned)> more_;
  std::atomic<unsigned> lent_{0};
  std::mutex mutex_;  // guards loans_
  std::map<const BatchRecord*, Loan*> loans_;
};

/// The parts of a loader that this stage uses.
struct Own {
  Builder builder;
  /// Builds one batch in the calling thread, in separate memory. Throws what building throws.
  std::function<BatchResult(const Position& at)> rebuild;
  Dataset dataset;
  std::span<const Output> outputs;
  std::string loads;      ///< Hello::loads
  unsigned reserved = 2;  ///< batches that the consumer may hold at first
};

class SharedStage final : public QueuedStage {
 public:
  SharedStage(Stage& before, const SharingOptions& options, std::size_t ahead, Own own);
  ~SharedStage() override;

  /// Joins the group, or begins it. `anywhere`: the loader has no position yet. Returns the position of the others, at
  /// which it then begins; nothing if there are none. Throws what Link::join() throws. Called once, before go_to().
  std::optional<Position> join_group(bool anywhere);
  void go_to(const Position& position, std::uint64_t generation) override;
  void close() override;
  void fail(const std::exception_ptr& failure) noexcept override;
  BatchPool& pool() override { return *pool_; }
  bool join(std::chrono::milliseconds grace) override;
  void report(Stats& stats) const override;
  void reset_stats() override;

 private:
  void run() override;
  enum class Group : std::uint8_t { new_one, known };  // whether this stage belonged to the group before
  void connect(Group group, bool anywhere, const std::function<bool()>& cancelled);
  BatchResult fetched(const Position& at, std::uint64_t generation);
  BatchResult received(Batch batch, const Position& at) const;
  BatchResult built_here(const Position& at);
  bool is_hub() const;

  const SharingOptions options_;
  const std::chrono::milliseconds patience_;
  const Own own_;
  const std::shared_ptr<ConsumerPool> pool_;
  mutable std::mutex mutex_;  // guards position_, link_ and hub_; only the stage's thread changes the last two
  Position position_;
  std::shared_ptr<Link> link_;
  std::unique_ptr<Hub> hub_;
  bool closed_ = false;
  std::optional<PositionWalk> building_;  // the run of its workers; only the stage's thread uses these three
  std::uint64_t own_run_ = 0;
  bool late_ = false;  // the hub did not answer the last time, so this stage does not wait for it
  std::atomic<std::uint64_t> received_{0}, built_{0};  // relaxed: sums order nothing
};

}  // namespace penstock::sharing
