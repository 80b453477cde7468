#include <algorithm>
#include <random>

#include <remote/http/backoff.hpp>

namespace penstock {

std::chrono::milliseconds backoff(unsigned failures) {
  constexpr std::int64_t kFirst = 100, kLongest = 20'000;
  constexpr unsigned kDoublings = 8;
  // An ordinary random generator: waiting times do not affect the delivered data.
  static thread_local std::minstd_rand random{std::random_device{}()};
  const std::int64_t longest = std::min(kLongest, kFirst << std::min(failures - 1, kDoublings));
  return std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(longest / 2, longest)(random));
}

}  // namespace penstock
