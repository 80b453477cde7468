// A thread that waits for credentials, so that the loop does not block.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>

#include <base/thread.hpp>
#include <remote/http/dialect.hpp>

namespace penstock {

class Renewal {
 public:
  /// Receives null or the error. Called in the renewal's thread; must not throw.
  using OnRenewed = std::function<void(const std::exception_ptr& failure)>;

  Renewal() = default;
  Renewal(Renewal&&) = delete;
  ~Renewal();

  /// Queues dialect.renew(address); the calls run one after another. Throws Error: resource.
  void ask(Dialect& dialect, std::string address, OnRenewed on_renewed);

 private:
  struct Wanted {
    Dialect* dialect;
    std::string address;
    OnRenewed on_renewed;
  };
  void run(const std::stop_token& stop);

  std::mutex mutex_;  // guards wanted_ and the start of thread_
  std::condition_variable_any changed_;
  std::deque<Wanted> wanted_;
  Thread thread_;
};

}  // namespace penstock
