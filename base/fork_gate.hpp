// Keeps fork() away from moments in which a library may hold its locks. The child can then use that library too.
#pragma once

namespace penstock {

/// fork() waits until no thread is inside the gate (for at most a second), and blocks enter() until it is over. In the
/// child no thread is inside.
class ForkGate {
 public:
  static void enter() noexcept;
  static void leave() noexcept;

  /// Inside the gate while this object lives.
  ForkGate() noexcept { enter(); }
  ForkGate(ForkGate&&) = delete;
  ~ForkGate() { leave(); }

  /// Wakes threads that sleep inside the gate, so that they leave it: fork() calls each registered one.
  class Sleepers {
   public:
    virtual void wake() noexcept = 0;  ///< must not block or enter the gate

   protected:
    ~Sleepers() = default;
  };
  static void add(Sleepers& sleepers);
  static void remove(Sleepers& sleepers) noexcept;
};

}  // namespace penstock
