#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include <penstock/base/error.hpp>
#include <penstock/loader/work/failures.hpp>

namespace penstock {
namespace {

constexpr std::size_t kListed = 1000;

// The shortest text that is this number.
std::string written(double number) {
  std::array<char, 32> digits{};
  const auto [end, fault] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return fault == std::errc{} ? std::string(digits.data(), end) : std::to_string(number);
}

}  // namespace

void Failures::record(const Position& order, std::vector<BadSample> bad, std::uint64_t other_failures) {
  if (!std::exchange(order_, order.first_of(order.epoch)).same_order(order)) counted_.clear();
  total_ += bad.size();
  other_ += other_failures;
  for (BadSample& sample : bad) {
    if (sample.position) {
      const auto place = std::ranges::lower_bound(counted_, *sample.position);
      if (place != counted_.end() && *place == *sample.position) continue;
      counted_.insert(place, *sample.position);
      last_ = sample.cause;
    }
    if (listed_.size() < kListed) listed_.push_back(std::move(sample));
  }
}

std::uint64_t Failures::before(std::uint64_t position) const {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(counted_, position) - counted_.begin());
}

void Failures::require(std::uint64_t bad, std::uint64_t samples, const char* whose) const {
  if (static_cast<double>(bad) <= max_rate_ * static_cast<double>(samples)) return;
  throw Error::corrupt(std::to_string(bad) + " of " + std::to_string(samples) + " samples of epoch " +
                       std::to_string(order_.epoch) + whose + " are bad, more than max_error_rate=" +
                       written(max_rate_) + " allows" + (last_.empty() ? "" : "; the last: " + last_));
}

void Failures::require_within_share(std::uint64_t bad) const {
  require(bad, (samples_ + ranks_ - 1) / ranks_, ranks_ > 1 ? ", on this rank," : "");
}

void Failures::require_within_all(std::uint64_t bad) const {
  require(bad, samples_, ", over all ranks,");
}

void Failures::report(Stats& stats) const {
  stats.bad_samples = total_;
  stats.later_failures = other_;
  stats.bad = listed_;
}

}  // namespace penstock
