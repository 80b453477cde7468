// Keeps fork() away from the moments in which a library may hold its locks, so that the child can use it too.
#pragma once

namespace penstock {

/// fork() waits until no thread is behind the gate (for a second at most), and lets none pass until it is over. In the
/// child nobody is behind it.
class ForkGate {
 public:
  static void enter() noexcept;
  static void leave() noexcept;

  /// Behind the gate for as long as this lives.
  ForkGate() noexcept { enter(); }
  ForkGate(ForkGate&&) = delete;
  ~ForkGate() { leave(); }

  /// What brings threads out that sleep behind the gate: fork() asks each one that is there.
  class Sleepers {
   public:
    virtual void wake() noexcept = 0;  ///< does not wait, nor enter

   protected:
    ~Sleepers() = default;
  };
  static void add(Sleepers& sleepers);
  static void remove(Sleepers& sleepers) noexcept;
};

}  // namespace penstock
