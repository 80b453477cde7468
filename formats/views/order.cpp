#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>

#include <base/printable.hpp>
#include <formats/absent_fields.hpp>
#include <formats/lists/number_table.hpp>
#include <formats/lists/sample_list.hpp>
#include <penstock/error.hpp>
#include <penstock/views.hpp>

namespace penstock {
namespace {

// Sorts the samples by `less`, which must also order equal samples. Needs no memory except the table, which is in a
// file for large orders.
template <typename Less>
SampleList in_order(std::uint64_t samples, const Less& less) {
  std::uint64_t first_below = 1;  // for a check whether all are in order already
  while (first_below < samples && less(first_below - 1, first_below)) ++first_below;
  if (first_below >= samples) return SampleList::range(0, samples);
  const auto table = std::make_shared<NumberTable>(samples, samples);
  const auto sort = [&](auto numbers) {
    std::iota(numbers.begin(), numbers.end(), typename decltype(numbers)::value_type{0});
    std::sort(numbers.begin(), numbers.end(), less);
  };
  if (table->wide()) {
    sort(table->longs());
  } else {
    sort(table->shorts());
  }
  return SampleList::of(table);
}

// Maps doubles to bits with the same order. 0 and -0 map to the same bits.
std::uint64_t ordered_bits(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

Dataset by_table(const Dataset& dataset, const NumberTable& values, const std::string& about, bool reverse) {
  const SampleList order = in_order(dataset.size(), [&](std::uint64_t a, std::uint64_t b) {
    const std::uint64_t first = values[reverse ? b : a], second = values[reverse ? a : b];
    return first != second ? first < second : a < b;
  });
  return choose(dataset, order, about + (reverse ? ", falling" : ""));
}

}  // namespace

Dataset sorted_by_key(const Dataset& dataset, bool reverse) {
  const SampleList order = in_order(dataset.size(), [&](std::uint64_t a, std::uint64_t b) {
    const int less = dataset.key(a).compare(dataset.key(b));
    return less != 0 ? (reverse ? less > 0 : less < 0) : a < b;
  });
  return choose(dataset, order, reverse ? "sort by key, falling" : "sort by key");
}

Dataset sorted_by_length(const Dataset& dataset, std::string_view field, bool reverse) {
  const auto number = dataset.field(field);
  if (!number) {
    throw Error::invalid_argument(
        "there is no field \"" + one_line(field) + "\" to sort by" + and_why_no_field(dataset, field),
        {.dataset = dataset.path().string()});
  }
  NumberTable lengths(dataset.size(), ~std::uint64_t{0});
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample)
    lengths.set(sample, dataset.length(sample, *number));
  return by_table(dataset, lengths, "sort by length of " + std::string(field), reverse);
}

Dataset sorted_by_numbers(const Dataset& dataset, const std::function<double(std::uint64_t sample)>& number,
                          const std::string& about, bool reverse) {
  NumberTable numbers(dataset.size(), ~std::uint64_t{0});
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) numbers.set(sample, ordered_bits(number(sample)));
  return by_table(dataset, numbers, about, reverse);
}

}  // namespace penstock
