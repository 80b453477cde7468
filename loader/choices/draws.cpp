#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include <base/numbers/decimal.hpp>
#include <base/printable.hpp>
#include <formats/column.hpp>
#include <formats/lists/number_table.hpp>
#include <loader/choices/values.hpp>
#include <penstock/error.hpp>
#include <penstock/sampling.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kAnyNumber = ~std::uint64_t{0};

std::string name_of(Draws::Kind kind) {
  return kind == Draws::Kind::repeated ? "repeats" : "weights";
}

std::string name_of(Draws::Kind kind, std::string_view column) {
  return name_of(kind) + "=" + double_quoted(column);
}

// Calls take(sample, values) with the column's values of each sample.
template <typename Take>
void for_each_value(const Dataset& dataset, const Column& column, const std::function<void()>& tick, const Take& take) {
  const std::uint32_t field = column.field();
  for_each_sample(dataset, {&field, 1}, take, tick);
}

// Parses the text as a number; returns the largest one if it is not a number.
std::uint64_t class_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() ? number : ~std::uint64_t{0};
}

// Returns numbers by the column's texts. If the column contains classes, their names are accepted, too.
std::unordered_map<std::string, double> numbers_by_text(const Dataset& dataset, const Column& column,
                                                        const std::map<std::string, double>& given,
                                                        const std::string& about) {
  std::unordered_map<std::string, double> numbers(given.begin(), given.end());
  for (const auto& [value, number] : given) {
    if (std::isfinite(number) && number >= 0) continue;
    throw Error::invalid_argument(
        about + ": " + double_quoted(value) + " has " + shortest_decimal(number) + "; expected a number of 0 or more",
        {.dataset = dataset.path().string()});
  }
  if (!column.is_class() || dataset.classes().empty()) return numbers;
  for (const auto& [value, number] : given) {
    const auto found = std::ranges::find(dataset.classes(), value);
    if (found != dataset.classes().end()) {
      numbers[std::to_string(found - dataset.classes().begin())] = number;
    } else if (class_number(value) >= dataset.classes().size()) {
      throw Error::invalid_argument(about + ": " + double_quoted(value) + " is not one of the " +
                                        with_commas(dataset.classes().size()) + " classes",
                                    {.dataset = dataset.path().string()});
    }
  }
  return numbers;
}

// Calls work() and adds the option to an error.
template <typename Work>
auto naming(const std::string& about, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), about + ": " + error.cause(), error.context());
  }
}

// Returns the user's name for a value: for a class, its name.
std::string value_named(const Dataset& dataset, const Column& column, const std::string& text) {
  const auto classes = dataset.classes();
  const std::uint64_t number = class_number(text);
  return column.is_class() && number < classes.size() ? "class " + double_quoted(classes[number]) : double_quoted(text);
}

}  // namespace

Draws drawn_by(Draws::Kind kind, std::span<const double> numbers, std::uint64_t samples) {
  auto table = std::make_shared<NumberTable>(numbers.size(), kAnyNumber);
  for (std::uint64_t i = 0; i < numbers.size(); ++i) table->set(i, std::bit_cast<std::uint64_t>(numbers[i]));
  return {.kind = kind, .numbers = std::move(table), .samples = samples, .about = name_of(kind)};
}

Draws drawn_by(Draws::Kind kind, const Dataset& dataset, std::string_view column, std::uint64_t samples,
               const std::function<void()>& tick) {
  const std::string about = name_of(kind, column);
  auto numbers = naming(about, [&] { return column_numbers(dataset, Column(dataset, column), tick); });
  return {.kind = kind, .numbers = std::move(numbers), .samples = samples, .about = about};
}

Draws drawn_by(Draws::Kind kind, const Dataset& dataset, std::string_view column,
               const std::map<std::string, double>& number_of_value, std::uint64_t samples,
               const std::function<void()>& tick) {
  const std::string about = name_of(kind) + " by " + double_quoted(column);
  const Column read = naming(about, [&] { return Column(dataset, column); });
  const auto numbers = numbers_by_text(dataset, read, number_of_value, about);
  auto table = std::make_shared<NumberTable>(dataset.size(), kAnyNumber);
  for_each_value(dataset, read, tick, [&](const SampleValues& sample) {
    const std::string text = read.text(sample, 0);
    const auto found = numbers.find(text);
    if (found == numbers.end())
      throw Error::invalid_argument(about + ": no number is given for " + value_named(dataset, read, text),
                                    {.dataset = dataset.path().string(), .key = std::string(sample.key)});
    table->set(sample.sample, std::bit_cast<std::uint64_t>(found->second));
  });
  return {.kind = kind, .numbers = std::move(table), .samples = samples, .about = about};
}

Draws balanced_by(const Dataset& dataset, std::string_view column, std::uint64_t samples,
                  const std::function<void()>& tick) {
  const std::string about = "balanced(" + double_quoted(column) + ")";
  const Column read = naming(about, [&] { return Column(dataset, column); });
  std::unordered_map<std::string, std::uint32_t> met;  // numbered in the order of their first samples
  std::vector<std::string> texts;
  NumberTable as_met(dataset.size(), dataset.size());
  for_each_value(dataset, read, tick, [&](const SampleValues& sample) {
    std::string text = read.text(sample, 0);
    const auto [known, added] = met.try_emplace(std::move(text), static_cast<std::uint32_t>(texts.size()));
    if (added) texts.push_back(known->first);
    as_met.set(sample.sample, known->second);
  });
  std::vector<std::uint32_t> order(texts.size()), number(texts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(texts[i].size(), std::string_view(texts[i])); });
  for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  auto table = std::make_shared<NumberTable>(dataset.size(), texts.size());
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) table->set(sample, number[as_met[sample]]);
  return {.kind = Draws::Kind::balanced, .numbers = std::move(table), .samples = samples, .about = about};
}

}  // namespace penstock
