// A thread that executes work in the background, one piece after the other.
#pragma once

#include <functional>
#include <future>
#include <string>

#include <base/thread.hpp>

namespace penstock {

/// Not thread-safe. The destructor waits for the current work.
class SerialExecutor {
 public:
  explicit SerialExecutor(std::string name) : name_(std::move(name)) {}  ///< of the thread; the system shows 15 bytes

  /// Starts `work` after all earlier work has ended. The future becomes ready at its end, or throws its exception.
  std::future<void> begin(std::function<void()> work);

 private:
  std::string name_;
  Thread thread_;
};

}  // namespace penstock
