#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include <formats/io/hash.hpp>
#include <order/windows/window_table.hpp>

namespace penstock {

namespace {

std::shared_ptr<const SharedNumbers> shared_of(const NumberTable& table, const std::string& name) {
  const std::uint64_t largest = table.wide() ? ~std::uint64_t{0} : ~std::uint32_t{0};
  return shared_numbers(name, table.size(), largest, [&](SharedNumbers& numbers) {
    for (std::uint64_t i = 0; i < table.size(); ++i) numbers.set(i, table[i]);
  });
}

}  // namespace

WindowTable::WindowTable(const WindowSpec& spec, WindowSamples samples) : spec_(spec), samples_(std::move(samples)) {
  const std::string name = " of windows " + hexadecimal(mark());
  const auto table = [&](const char* what, std::uint64_t count, void (WindowTable::*fill)(SharedNumbers&) const) {
    return shared_numbers(what + name, count, samples_.count, [&](SharedNumbers& numbers) { (this->*fill)(numbers); });
  };
  starts_ = table("groups", samples_.group_count + 1, &WindowTable::count_steps);
  for (std::uint64_t group = 0; group < samples_.group_count; ++group)
    longest_ = std::max(longest_, (*starts_)[group + 1] - (*starts_)[group]);
  steps_ = table("steps", samples_.count, &WindowTable::lay_out);
  if (spec_.at.empty()) before_ = table("ranks", samples_.count, &WindowTable::rank);
  if (samples_.groups != nullptr) groups_ = shared_of(*samples_.groups, "numbers of groups" + name);
  if (!spec_.at.empty()) numbers_ = shared_of(*samples_.numbers, "numbers" + name);
  samples_.groups.reset();
  samples_.numbers.reset();
}

// Identifies everything that determines the tables.
std::uint64_t WindowTable::mark() const {
  std::uint64_t mark = hash64(std::to_string(samples_.count) + " " + std::to_string(samples_.group_count));
  const auto add = [&](std::uint64_t number) { mark = mix64(mark ^ number) + kFnvOffset; };
  const auto add_all = [&](const NumberTable* table) {
    add(table != nullptr);
    if (table == nullptr) return;
    for (std::uint64_t i = 0; i < table->size(); ++i) add((*table)[i]);
  };
  add_all(samples_.groups.get());
  add_all(samples_.numbers.get());
  for (std::uint64_t sample = 0; sample < samples_.lacking.size(); ++sample)
    if (samples_.lacking[sample]) add(sample);
  return mark;
}

std::uint64_t WindowTable::group_number(std::uint64_t sample) const {
  if (groups_ != nullptr) return (*groups_)[sample];
  return samples_.groups != nullptr ? (*samples_.groups)[sample] : 0;
}

WindowTable::Group WindowTable::group_of(std::uint64_t sample) const {
  const std::uint64_t group = group_number(sample), begin = (*starts_)[group];
  return {begin, (*starts_)[group + 1] - begin};
}

double WindowTable::number(std::uint64_t sample) const {
  return std::bit_cast<double>(numbers_ != nullptr ? (*numbers_)[sample] : (*samples_.numbers)[sample]);
}

bool WindowTable::is_step(std::uint64_t sample) const {
  return samples_.lacking.empty() || !samples_.lacking[sample];
}

void WindowTable::count_steps(SharedNumbers& starts) const {
  for (std::uint64_t sample = 0; sample < samples_.count; ++sample) {
    const std::uint64_t behind = group_number(sample) + 1;
    if (is_step(sample)) starts.set(behind, starts[behind] + 1);
  }
  for (std::uint64_t group = 0; group < samples_.group_count; ++group)
    starts.set(group + 1, starts[group + 1] + starts[group]);
}

// Sorts the steps by group. Within a group they have the dataset's order, or the order of their numbers; of equal
// numbers, the sample that comes first stays first.
void WindowTable::lay_out(SharedNumbers& steps) const {
  NumberTable next(samples_.group_count, samples_.count);
  for (std::uint64_t group = 0; group < samples_.group_count; ++group) next.set(group, (*starts_)[group]);
  for (std::uint64_t sample = 0; sample < samples_.count; ++sample) {
    if (!is_step(sample)) continue;
    const std::uint64_t group = group_number(sample);
    steps.set(next[group], sample);
    next.set(group, next[group] + 1);
  }
  if (samples_.numbers != nullptr) sort_groups(steps);
}

void WindowTable::sort_groups(SharedNumbers& steps) const {
  std::vector<std::uint64_t> members;
  for (std::uint64_t group = 0; group < samples_.group_count; ++group) {
    const std::uint64_t begin = (*starts_)[group], end = (*starts_)[group + 1];
    members.clear();
    for (std::uint64_t at = begin; at < end; ++at) members.push_back(steps[at]);
    const auto by_number = [&](std::uint64_t sample) { return number(sample); };
    if (std::ranges::is_sorted(members, {}, by_number)) continue;
    std::ranges::stable_sort(members, {}, by_number);
    for (std::uint64_t at = begin; at < end; ++at) steps.set(at, members[at - begin]);
  }
}

void WindowTable::rank(SharedNumbers& before) const {
  for (std::uint64_t group = 0; group < samples_.group_count; ++group) {
    const std::uint64_t begin = (*starts_)[group], end = (*starts_)[group + 1];
    for (std::uint64_t at = begin; at < end; ++at) before.set((*steps_)[at], at - begin + 1);
  }
  if (samples_.lacking.empty()) return;
  for (std::uint64_t sample = 0; sample < samples_.count; ++sample) {
    if (!samples_.lacking[sample]) continue;
    const Group group = group_of(sample);
    std::uint64_t low = 0, high = group.size;  // at most `high` steps are before it
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2, step = (*steps_)[group.begin + middle];
      const bool is_before =
          samples_.numbers == nullptr || number(step) == number(sample) ? step < sample : number(step) < number(sample);
      (is_before ? low : high) = is_before ? middle + 1 : middle;
    }
    before.set(sample, low);
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
