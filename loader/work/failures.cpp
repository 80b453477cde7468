#include <algorithm>
#include <utility>

#include <base/numbers/decimal.hpp>
#include <base/printable.hpp>
#include <loader/work/failures.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kListed = 1000;

}  // namespace

Failures::Failures(FailureLimit limit, std::vector<FailureShare> shares, std::uint32_t ranks)
    : limit_(limit), ranks_(ranks) {
  for (FailureShare& share : shares) counted_.push_back({.share = std::move(share), .positions = {}, .last = {}});
}

Failures::Counted& Failures::counted_of(std::uint64_t sample) {
  const auto behind =
      std::ranges::upper_bound(counted_, sample, {}, [](const Counted& counted) { return counted.share.first_sample; });
  return *(behind == counted_.begin() ? behind : behind - 1);
}

void Failures::record(const Position& order, std::vector<BadSample> bad, std::uint64_t other_failures) {
  if (!std::exchange(order_, order.first_of(order.epoch)).same_order(order))
    for (Counted& counted : counted_) counted.positions.clear();
  total_ += bad.size();
  other_ += other_failures;
  for (BadSample& sample : bad) {
    if (sample.position) {
      Counted& counted = counted_of(sample.sample);
      const auto place = std::ranges::lower_bound(counted.positions, *sample.position);
      if (place != counted.positions.end() && *place == *sample.position) continue;
      counted.positions.insert(place, *sample.position);
      last_ = counted.last = sample.cause;
    }
    if (listed_.size() < kListed) listed_.push_back(std::move(sample));
  }
}

std::uint64_t Failures::Counted::before(std::uint64_t position) const {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(positions, position) - positions.begin());
}

std::uint64_t Failures::before(std::uint64_t position) const {
  std::uint64_t all = 0;
  for (const Counted& counted : counted_) all += counted.before(position);
  return all;
}

void Failures::require(std::uint64_t bad, std::uint64_t samples, const std::string& whose,
                       const std::string& last) const {
  const bool within =
      limit_.count ? bad <= *limit_.count : static_cast<double>(bad) <= limit_.rate * static_cast<double>(samples);
  if (within) return;
  throw Error::corrupt(std::to_string(bad) + " of " + std::to_string(samples) + " samples of epoch " +
                       std::to_string(order_.epoch) + whose + " are invalid, more than max_errors=" +
                       (limit_.count ? std::to_string(*limit_.count) : shortest_decimal(limit_.rate)) + " allows" +
                       (last.empty() ? "" : "; the last: " + last));
}

void Failures::require_within_share(std::uint64_t position) const {
  for (const Counted& counted : counted_) {
    const std::string& source = counted.share.source;
    const std::string whose = (source.empty() ? "" : ", of source " + double_quoted(source) + ",") +
                              std::string(ranks_ > 1 ? ", on this rank," : "");
    require(counted.before(position), (counted.share.samples + ranks_ - 1) / ranks_, whose, counted.last);
  }
}

void Failures::require_within_all(std::uint64_t bad) const {
  std::uint64_t samples = 0;
  for (const Counted& counted : counted_) samples += counted.share.samples;
  require(bad, samples, ", over all ranks,", last_);
}

void Failures::report(Stats& stats) const {
  stats.bad_samples = total_;
  stats.later_failures = other_;
  stats.bad = listed_;
}

void Failures::reset_report() {
  total_ = other_ = 0;
  listed_.clear();
}

}  // namespace penstock
