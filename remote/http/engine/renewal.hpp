// The thread that waits for credentials, so that the loop need not.
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
  /// What came of it: null, or why not. From the thread of the renewal; must not throw.
  using OnRenewed = std::function<void(const std::exception_ptr& failure)>;

  Renewal() = default;
  Renewal(Renewal&&) = delete;
  ~Renewal();

  /// Calls dialect.renew(address), one after the other. Throws Error: resource.
  void ask(Dialect& dialect, std::string address, OnRenewed on_renewed);

 private:
  struct Wanted {
    Dialect* dialect;
    std::string address;
    OnRenewed on_renewed;
  };
  void run(const std::stop_token& stop);

  std::mutex mutex_;  // guards wanted_ and thread_'s making
  std::condition_variable_any changed_;
  std::deque<Wanted> wanted_;
  Thread thread_;
};

}  // namespace penstock
