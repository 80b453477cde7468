// A stage with a thread of its own, ahead of whoever takes from it, and a bounded queue of finished batches.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <base/thread.hpp>
#include <loader/batch/stage.hpp>

namespace penstock {

/// What derives from it says in work() what becomes of each batch; time, order, room, ends and failures are minded
/// here. Memory is that of the stage before: a batch in the queue keeps its slab.
class QueuedStage : public Stage {
 public:
  /// Holds at most `ahead` batches that are done, and the one that it is at. `before` outlives this. `thread`: its name
  /// for the system; without one, "penstock-" and the stage's.
  QueuedStage(Stage& before, const std::string& name, std::size_t ahead, const std::string& thread = {});

  std::optional<BatchResult> take(std::chrono::milliseconds timeout) override;
  std::optional<BatchResult> take_of(std::uint64_t generation) override;
  void go_to(const Position& position, std::uint64_t generation) override;
  void close() override;
  void fail(const std::exception_ptr& failure) noexcept override;
  void start(const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed) override;
  bool join(std::chrono::milliseconds grace) override { return thread_ == nullptr || thread_->join_for(grace); }
  std::size_t ready() const override;
  std::string level() const override { return std::to_string(ready()) + " batches done by " + name(); }
  BatchPool& pool() override { return before_.pool(); }

 protected:
  /// For the stage's thread: what is done with each batch that has not failed. What it throws is what next() throws in
  /// place of giving the batch. The time that it takes is busy time.
  virtual void work(Batch& /*batch*/) {}
  /// Around work(), also for batches that have failed; false once the generation has passed. Adds to the clock.
  virtual bool pass(BatchResult& result, std::uint64_t generation);
  virtual void give(BatchResult& /*result*/) {}  ///< before whoever takes it has it, in the taker's thread
  virtual void run();                            ///< what the thread does, until close()
  virtual void discard(const BatchResult&) {}    ///< of what nobody takes any more; in any thread
  bool wants(std::uint64_t generation) const;
  /// Waits until there is room in the queue; false once the generation has passed, or closed.
  bool wait_for_room(std::uint64_t generation);

  std::unique_ptr<Thread> thread_;

 private:
  bool passed(std::uint64_t generation) const { return closed_ || failure_ != nullptr || generation_ != generation; }
  std::optional<std::uint64_t> next_generation();
  bool advance(std::uint64_t generation);
  bool put(std::uint64_t generation, BatchResult result);
  BatchResult pop();
  void discard_all(const std::list<BatchResult>& unwanted);

  Stage& before_;
  const std::size_t ahead_;
  const std::string thread_name_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::list<BatchResult> done_;
  std::optional<std::uint64_t> begun_;  ///< generation that is wanted and not yet begun
  std::uint64_t generation_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace penstock
