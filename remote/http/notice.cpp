#include <atomic>
#include <cstdint>
#include <cstdio>

#include <base/caught.hpp>
#include <base/printable.hpp>
#include <remote/http/notice.hpp>

namespace penstock {
namespace {

void say(const std::string& line) {
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

}  // namespace

void say_waiting(std::string_view address, std::chrono::steady_clock::duration waited,
                 std::string_view failure) noexcept {
  constexpr std::int64_t kPause = 30;
  // In seconds. Relaxed: the thread whose exchange succeeds writes the line, and no other data depends on it.
  static std::atomic<std::int64_t> next{0};
  const auto seconds = [](auto duration) { return std::chrono::duration_cast<std::chrono::seconds>(duration).count(); };
  const std::int64_t now = seconds(std::chrono::steady_clock::now().time_since_epoch());
  std::int64_t due = next.load(std::memory_order_relaxed);
  if (now < due || !next.compare_exchange_strong(due, now + kPause, std::memory_order_relaxed)) return;
  static_cast<void>(caught([&] {
    say("penstock: waiting for " + one_line(address) + " (" + std::to_string(seconds(waited)) +
        " s): " + (failure.empty() ? "no answer yet" : one_line(failure)) + '\n');
  }));
}

void say_whole_objects(std::string_view address) noexcept {
  static std::atomic<bool> said{false};
  if (said.exchange(true, std::memory_order_relaxed)) return;
  static_cast<void>(caught([&] {
    say("penstock: warning: " + one_line(address) +
        ": the server does not support ranges and sends the whole object for each part that is read: use another "
        "server, or penstock stage\n");
  }));
}

}  // namespace penstock
