// A stage with its own thread, which runs ahead of the next stage, and a bounded queue of finished batches.
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

/// Derived classes process a batch in work(). This class handles time, order, the limit of the queue, the end and
/// failures. The stage adds no memory: a batch in the queue keeps its slab.
class QueuedStage : public Stage {
 public:
  /// Holds at most `ahead` finished batches and the one in work. `before` must outlive this stage. `thread` is the
  /// name that the system shows; the default is "penstock-" and the stage's name.
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
  /// Processes each batch that has not failed, in the stage's thread. If it throws, next() throws the exception
  /// instead of returning the batch. Its time counts as busy time.
  virtual void work(Batch& /*batch*/) {}
  /// Wraps work() and also sees failed batches. Returns false once the generation has passed. Adds to the clock.
  virtual bool pass(BatchResult& result, std::uint64_t generation);
  virtual void give(BatchResult& /*result*/) {}  ///< called in the taker's thread, before it receives the batch
  virtual void run();                            ///< the thread's main function, until close()
  virtual void discard(const BatchResult&) {}    ///< for a batch that no consumer will take; from any thread
  bool wants(std::uint64_t generation) const;
  /// Waits until the queue has room. Returns false once the generation has passed or the stage is closed.
  bool wait_for_room(std::uint64_t generation);
  std::optional<std::uint64_t> next_generation();  ///< waits for it; nothing once closed
  /// Adds to the queue once it has room. Returns false once the generation has passed or the stage is closed.
  bool put(std::uint64_t generation, BatchResult result);

  std::unique_ptr<Thread> thread_;

 private:
  bool passed(std::uint64_t generation) const { return closed_ || failure_ != nullptr || generation_ != generation; }
  bool advance(std::uint64_t generation);
  BatchResult pop();
  void discard_all(const std::list<BatchResult>& unwanted);

  Stage& before_;
  const std::size_t ahead_;
  const std::string thread_name_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::list<BatchResult> done_;
  std::optional<std::uint64_t> begun_;  ///< generation to start, which the thread has not started yet
  std::uint64_t generation_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace penstock
