// A thread that does work beside its caller, one piece after the other.
#pragma once

#include <functional>
#include <future>
#include <string>

#include <base/thread.hpp>

namespace penstock {

/// Used by one thread. Its destructor waits for the work under way.
class SerialExecutor {
 public:
  explicit SerialExecutor(std::string name) : name_(std::move(name)) {}  ///< of the thread; the system shows 15 bytes

  /// Begins `work` once what was begun before has ended. The future tells when it has, or throws what it threw.
  std::future<void> begin(std::function<void()> work);

 private:
  std::string name_;
  Thread thread_;
};

}  // namespace penstock
