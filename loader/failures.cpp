#include <string>
#include <utility>

#include <penstock/formats/error.hpp>
#include <penstock/loader/failures.hpp>

namespace penstock {
namespace {

constexpr std::size_t kListed = 1000;

}  // namespace

void Failures::record(std::uint64_t epoch, std::vector<BadSample> bad, std::uint64_t other_failures) {
  if (std::exchange(epoch_, epoch) != epoch) in_epoch_ = 0;
  in_epoch_ += bad.size();
  total_ += bad.size();
  other_ += other_failures;
  std::string last;
  for (BadSample& sample : bad) {
    last = sample.cause;
    if (listed_.size() < kListed) listed_.push_back(std::move(sample));
  }
  if (bad.empty() || static_cast<double>(in_epoch_) <= max_rate_ * static_cast<double>(samples_)) return;
  throw Error::corrupt(std::to_string(in_epoch_) + " of " + std::to_string(samples_) + " samples of epoch " +
                       std::to_string(epoch) + " are bad, more than max_error_rate allows; the last: " + last);
}

void Failures::report(Stats& stats) const {
  stats.bad_samples = total_;
  stats.later_failures = other_;
  stats.bad = listed_;
}

}  // namespace penstock
