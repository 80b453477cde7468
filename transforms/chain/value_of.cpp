#include <transforms/chain/value_of.hpp>

namespace penstock {
namespace {

bool allows(const Rules& rules, double value) {
  return (rules.above_least ? value > rules.least : value >= rules.least) && value <= rules.most;  // false for NaN
}

}  // namespace

std::string plain_number(double number) {
  std::string digits = std::to_string(number);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits;
}

std::string allowed_numbers(const Rules& rules) {
  if (rules.least == std::numeric_limits<double>::lowest()) return "any";
  const std::string least = (rules.above_least ? "above " : "") + plain_number(rules.least);
  if (rules.most < std::numeric_limits<double>::max()) return least + " to " + plain_number(rules.most);
  return least + (rules.above_least ? "" : " or more");
}

std::string allowed_names(std::span<const std::string_view> names, int without) {
  std::vector<std::string_view> left;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (static_cast<int>(i) != without) left.push_back(names[i]);
  }
  std::string list;
  for (std::size_t i = 0; i < left.size(); ++i)
    list += (i == 0 ? "" : i + 1 < left.size() ? ", " : " or ") + std::string(left[i]);
  return list;
}

std::string dtype_names() {
  std::vector<std::string_view> names;
  for (auto number = 0U; number <= static_cast<unsigned>(DType::boolean); ++number)
    names.push_back(name(static_cast<DType>(number)));
  return allowed_names(names, -1);
}

// "needs probability from 0 to 1", "needs points of at least 1", or the refusal
std::string number_fault(const StepParameter& parameter, double value) {
  const Rules& rules = parameter.rules;
  if (allows(rules, value)) return {};
  if (!rules.refusal.empty()) return std::string(rules.refusal);
  const std::string least = plain_number(rules.least), start = "needs " + std::string(parameter.name) + " ";
  if (rules.least == std::numeric_limits<double>::lowest()) return start + "that is finite";
  if (rules.most >= std::numeric_limits<double>::max()) return start + "of at least " + least;
  return start + "from " + least + " to " + plain_number(rules.most);
}

std::string range_fault(const StepParameter& parameter, const Range& value) {
  const Rules& rules = parameter.rules;
  if (allows(rules, value.low) && allows(rules, value.high) && value.low <= value.high) return {};
  const std::string name(parameter.name), least = plain_number(rules.least), most = plain_number(rules.most);
  if (rules.one == OneNumber::exactly || rules.one == OneNumber::nothing)
    return "needs " + least + (rules.above_least ? " < " : " <= ") + name + "[0] <= " + name + "[1] <= " + most;
  return "needs " + name + " from " + least + " to " + most +
         (rules.unit.empty() ? ", with the lower number first"
                             : " " + std::string(rules.unit) + ", with the lower number first");
}

std::string quoted(const std::string& name) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  return !name.empty() && name.find_first_not_of(kPlain) == std::string::npos ? name : '"' + name + '"';
}

std::size_t chosen(const StepParameter& parameter, const StepArguments& given, const Argument& found,
                   std::span<const std::string_view> names) {
  const std::string& word = StepArguments::word(found, parameter.name);
  const auto place = std::ranges::find(names, word) - names.begin();
  const int without = parameter.rules.without;
  if (place != std::ssize(names) && place != without) return static_cast<std::size_t>(place);
  const std::string known = std::string(parameter.name) + " must be " + allowed_names(names, without) + ", not";
  throw Error::invalid_argument(
      std::string(given.step()) +
      "(): " + (parameter.rules.refusal.empty() ? known : std::string(parameter.rules.refusal)) + " \"" + word + "\"");
}

}  // namespace penstock
