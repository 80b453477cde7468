// Reports the progress of open() to its caller.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <type_traits>
#include <utility>

namespace penstock {

/// Any callable of (bytes or files done, total) is one; it may throw to end open(). So may `waiting`, which is called
/// ten times a second while another process holds the lock of the index that is wanted; without it the other one is
/// called with (0, 0).
class OpenProgress {
 public:
  using Told = std::function<void(std::uint64_t done, std::uint64_t total)>;
  using Waiting = std::function<void(const std::filesystem::path& lock, std::chrono::milliseconds waited)>;

  OpenProgress() = default;
  template <typename Callable>
  requires(!std::same_as<std::remove_cvref_t<Callable>, OpenProgress> && std::constructible_from<Told, Callable>)
      OpenProgress(Callable&& told, Waiting waiting = {})  // NOLINT: callables are passed as they are
      : told_(std::forward<Callable>(told)), waiting_(std::move(waiting)) {}

  explicit operator bool() const { return static_cast<bool>(told_); }
  void operator()(std::uint64_t done, std::uint64_t total) const {
    if (told_) told_(done, total);
  }
  void wait(const std::filesystem::path& lock, std::chrono::milliseconds waited) const {
    waiting_ ? waiting_(lock, waited) : (*this)(0, 0);
  }

 private:
  Told told_;
  Waiting waiting_;
};

}  // namespace penstock
