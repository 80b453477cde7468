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
/// threads that have no token. Idle threads use no processor time.
///
/// `token` is the function that a token runs, in thread `number`, and must not throw.
class ArenaPool {
 public:
  using Token = std::function<void(unsigned number)>;

  ArenaPool(unsigned most, Token token);  ///< room for `most` threads
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
