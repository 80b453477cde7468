#include <utility>

#include <base/caught.hpp>
#include <remote/http/engine/renewal.hpp>

namespace penstock {

Renewal::~Renewal() {
  thread_.join();
}

void Renewal::ask(Dialect& dialect, std::string address, OnRenewed on_renewed) {
  {
    const std::scoped_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = Thread("remote-renewal", [this](const std::stop_token& stop) { run(stop); });
    wanted_.push_back({&dialect, std::move(address), std::move(on_renewed)});
  }
  changed_.notify_one();
}

void Renewal::run(const std::stop_token& stop) {
  while (true) {
    Wanted next;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !wanted_.empty(); })) return;
      next = std::move(wanted_.front());
      wanted_.pop_front();
    }
    next.on_renewed(caught([&] { next.dialect->renew(next.address); }));
  }
}

}  // namespace penstock
