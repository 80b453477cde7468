#include <algorithm>
#include <bit>
#include <utility>

#include <penstock/loader/windows/window_table.hpp>

namespace penstock {

WindowTable::WindowTable(const WindowSpec& spec, WindowSamples samples) : spec_(spec), samples_(std::move(samples)) {
  lay_out();
  if (samples_.numbers != nullptr) sort_groups();
  if (!spec_.at.empty()) return;
  rank();
  samples_.numbers.reset();
}

WindowTable::Group WindowTable::group_of(std::uint64_t sample) const {
  const std::uint64_t group = samples_.groups == nullptr ? 0 : (*samples_.groups)[sample];
  const std::uint64_t begin = (*starts_)[group];
  return {begin, (*starts_)[group + 1] - begin};
}

double WindowTable::number(std::uint64_t sample) const {
  return std::bit_cast<double>((*samples_.numbers)[sample]);
}

// Group by group, in the dataset's order.
void WindowTable::lay_out() {
  const auto group = [&](std::uint64_t sample) { return samples_.groups == nullptr ? 0 : (*samples_.groups)[sample]; };
  const auto is_step = [&](std::uint64_t sample) { return samples_.lacking.empty() || !samples_.lacking[sample]; };
  starts_ = std::make_unique<NumberTable>(samples_.group_count + 1, samples_.count);
  steps_ = std::make_unique<NumberTable>(samples_.count, samples_.count);
  // starts_[g + 1] first counts the steps of g, is then where g begins, and in the end where g + 1 does.
  for (std::uint64_t sample = 0; sample < samples_.count; ++sample) {
    if (is_step(sample)) starts_->set(group(sample) + 1, (*starts_)[group(sample) + 1] + 1);
  }
  std::uint64_t begin = 0;
  for (std::uint64_t each = 0; each < samples_.group_count; ++each) {
    const std::uint64_t size = (*starts_)[each + 1];
    longest_ = std::max(longest_, size);
    starts_->set(each + 1, begin);
    begin += size;
  }
  for (std::uint64_t sample = 0; sample < samples_.count; ++sample) {
    if (!is_step(sample)) continue;
    const std::uint64_t at = (*starts_)[group(sample) + 1];
    steps_->set(at, sample);
    starts_->set(group(sample) + 1, at + 1);
  }
}

// Of equal numbers the sample that comes first in the dataset stays the first.
void WindowTable::sort_groups() {
  std::vector<std::uint64_t> members;
  for (std::uint64_t group = 0; group < samples_.group_count; ++group) {
    const std::uint64_t begin = (*starts_)[group], end = (*starts_)[group + 1];
    members.clear();
    for (std::uint64_t at = begin; at < end; ++at) members.push_back((*steps_)[at]);
    const auto by_number = [&](std::uint64_t sample) { return number(sample); };
    if (std::ranges::is_sorted(members, {}, by_number)) continue;
    std::ranges::stable_sort(members, {}, by_number);
    for (std::uint64_t at = begin; at < end; ++at) steps_->set(at, members[at - begin]);
  }
}

void WindowTable::rank() {
  before_ = std::make_unique<NumberTable>(samples_.count, samples_.count);
  for (std::uint64_t group = 0; group < samples_.group_count; ++group) {
    const std::uint64_t begin = (*starts_)[group], end = (*starts_)[group + 1];
    for (std::uint64_t at = begin; at < end; ++at) before_->set((*steps_)[at], at - begin + 1);
  }
  if (samples_.lacking.empty()) return;
  for (std::uint64_t sample = 0; sample < samples_.count; ++sample) {
    if (!samples_.lacking[sample]) continue;
    const Group group = group_of(sample);
    std::uint64_t low = 0, high = group.size;  // the steps before it are fewer than `high + 1`
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2, step = (*steps_)[group.begin + middle];
      const bool is_before =
          samples_.numbers == nullptr || number(step) == number(sample) ? step < sample : number(step) < number(sample);
      (is_before ? low : high) = is_before ? middle + 1 : middle;
    }
    before_->set(sample, low);
  }
}

std::int64_t WindowTable::place(std::uint64_t sample, const Group& group, double offset) const {
  if (before_ != nullptr) return static_cast<std::int64_t>((*before_)[sample]) - 1 + static_cast<std::int64_t>(offset);
  const double wanted = number(sample) + offset;
  std::uint64_t low = 0, high = group.size;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    const bool is_before = number((*steps_)[group.begin + middle]) <= wanted;
    (is_before ? low : high) = is_before ? middle + 1 : middle;
  }
  return static_cast<std::int64_t>(low) - 1;
}

void WindowTable::steps(std::uint64_t sample, std::vector<WindowStep>& steps) const {
  const Group group = group_of(sample);
  steps.clear();
  for (const double offset : spec_.offsets) {
    const std::int64_t wanted = place(sample, group, offset), last = static_cast<std::int64_t>(group.size) - 1;
    const auto nearest = static_cast<std::uint64_t>(std::clamp<std::int64_t>(wanted, 0, last));
    steps.push_back({(*steps_)[group.begin + nearest], wanted >= 0 && wanted <= last});
  }
}

bool WindowTable::serves(std::uint64_t sample) const {
  const Group group = group_of(sample);
  if (group.size == 0) return false;
  if (spec_.edge == Edge::pad) return true;
  return std::ranges::all_of(spec_.offsets, [&](double offset) {
    const std::int64_t wanted = place(sample, group, offset);
    return wanted >= 0 && wanted < static_cast<std::int64_t>(group.size);
  });
}

}  // namespace penstock
