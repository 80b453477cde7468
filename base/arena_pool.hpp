// Threads of ours inside an arena of TBB's, which nobody else enters.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <base/thread.hpp>

namespace penstock {

/// TBB schedules tokens onto exactly as many threads as were started, also where that is more than there are cores: its
/// own threads have no place in the arena, and the host program's arenas are left alone. What runs on TBB within a
/// token is shared with threads that have no token. Idle threads use no processor time.
///
/// `token` is what a token does, in thread `number`; it must not throw.
class ArenaPool {
 public:
  using Token = std::function<void(unsigned number)>;

  ArenaPool(unsigned most, Token token);  ///< with room for so many threads
  ArenaPool(ArenaPool&&) = delete;
  ~ArenaPool();  ///< close(), and joins

  /// Starts the threads NAME0, NAME1, ... which hold `keeps_alive`; `failed` is told what one of them ends with. As
  /// many as there is room for, or `threads`: each further call then adds to them. Throws Error: resource, when a
  /// thread is refused; close() lets go those that were started, which serve until then.
  void start(const std::string& name, const std::shared_ptr<void>& keeps_alive = {}, const Thread::Failed& failed = {},
             std::optional<unsigned> threads = {});
  unsigned started() const;  ///< from the thread that starts them
  /// One token more, in no certain order. False: the pool is closed, or memory is refused. Any thread.
  bool enqueue() noexcept;
  /// The same of a token that does `once`.
  bool enqueue(const Token& once) noexcept;
  /// Tokens that have not begun yet are still run; then the threads end.
  void close() noexcept;
  /// close(), and joins; false when a thread did not come back within `grace` and was left behind.
  bool join_for(std::chrono::milliseconds grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
