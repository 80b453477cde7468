#include <algorithm>
#include <utility>

#include <base/waits/interruption.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

thread_local const Interruptible* innermost = nullptr;

}  // namespace

Interruptible::Interruptible(std::function<bool()> asked)
    : asked_(std::move(asked)), before_(std::exchange(innermost, this)) {}

Interruptible::~Interruptible() {
  innermost = before_;
}

std::function<bool()> interruption_of_thread() {
  return innermost != nullptr ? innermost->asked_ : std::function<bool()>();
}

bool interruption_asked() {
  return innermost != nullptr && innermost->asked_ && innermost->asked_();
}

void require_uninterrupted() {
  if (interruption_asked()) throw Error::resource("interrupted");
}

std::function<bool()> when_patience_ends(std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kOfUsers{1500};
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + (interruption_asked() ? std::min(patience, kOfUsers) : patience);
  return [until] { return Clock::now() >= until; };
}

}  // namespace penstock
