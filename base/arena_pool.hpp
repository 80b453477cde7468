// A TBB arena that contains only threads of this library.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <base/thread.hpp>

namespace penstock {

/// TBB schedules tokens onto exactly as many threads as were started, even if there are fewer cores. TBB's own threads
/// have no slot in the arena, and the host program's arenas are not affected. Nested TBB work in a token is shared with
/// threads that have had no token for `stand_by`. Idle threads use no processor time. The threads have the policy
/// SCHED_BATCH, so that they do not interrupt the training's thread, unless the program has chosen another one.
///
/// `token` is the function that a token runs, in thread `number`, and must not throw. A thread waits `stand_by` for its
/// next token before it returns to TBB. There every token wakes all threads that sleep.
class ArenaPool {
 public:
  using Token = std::function<void(unsigned number)>;

  /// Room for `most` threads.
  ArenaPool(unsigned most, Token token, std::chrono::milliseconds stand_by = std::chrono::seconds(1));
  ArenaPool(ArenaPool&&) = delete;
  ~ArenaPool();  ///< close(), and joins

  /// Starts the threads NAME0, NAME1, ... which hold `keeps_alive`. `failed` receives the exception that ends a thread.
  /// Starts `threads` threads, by default as many as there is room for; each further call adds to them. Throws Error:
  /// resource, if a thread cannot be started. Threads started before that serve tokens until close().
  void start(const std::string& name, const std::shared_ptr<void>& keeps_alive = {}, const Thread::Failed& failed = {},
             std::optional<unsigned> threads = {});
  unsigned started() const;  ///< call it from the thread that starts them
  /// Adds a token; the order is unspecified. Returns false if the pool is closed or memory runs out. Thread-safe.
  bool enqueue() noexcept;
  /// Adds a token that runs `once`.
  bool enqueue(const Token& once) noexcept;
  /// Runs the tokens that have not begun; then the threads end.
  void close() noexcept;
  /// Calls close() and joins. Returns false if a thread did not end within `grace` and was left behind.
  bool join_for(std::chrono::milliseconds grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
