#include <algorithm>

#include <penstock/transforms/chain/step_arguments.hpp>

namespace penstock::chain_parse {
namespace {

std::int64_t whole_number(double number, std::string_view keyword) {
  const bool fits = number >= 0 && number < 1e15;
  const auto value = fits ? static_cast<std::int64_t>(number) : -1;
  if (!fits || static_cast<double>(value) != number) throw misfit(std::string(keyword) + " is to be a whole number");
  return value;
}

}  // namespace

Error misfit(std::string cause) {
  return Error::invalid_argument(std::move(cause));
}

const Argument* StepArguments::find(std::size_t place, std::string_view keyword) {
  std::size_t position = 0;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const bool found =
        arguments_[i].keyword.empty() ? position++ == place : !keyword.empty() && arguments_[i].keyword == keyword;
    if (!found) continue;
    used_[i] = true;
    return &arguments_[i];
  }
  return nullptr;
}

const Argument& StepArguments::get(std::size_t place, std::string_view keyword) {
  const Argument* found = find(place, keyword);
  if (found == nullptr) throw misfit("needs " + std::string(keyword));
  return *found;
}

std::int64_t StepArguments::whole(std::size_t place, std::string_view keyword) {
  const Argument& argument = get(place, keyword);
  return whole_number(argument.numbers.size() == 1 ? argument.numbers[0] : -1, keyword);
}

std::int64_t StepArguments::whole(std::size_t place, std::string_view keyword, std::int64_t usual) {
  return find(place, keyword) == nullptr ? usual : whole(place, keyword);
}

double StepArguments::real(std::size_t place, std::string_view keyword, double usual) {
  const Argument* argument = find(place, keyword);
  if (argument == nullptr) return usual;
  if (argument->numbers.size() != 1 || argument->list) throw misfit(std::string(keyword) + " is to be a number");
  return argument->numbers[0];
}

std::string StepArguments::text(std::size_t place, std::string_view keyword, std::string usual) {
  const Argument* argument = find(place, keyword);
  if (argument == nullptr) return usual;
  if (argument->word.empty()) throw misfit(std::string(keyword) + " is to be a word");
  return argument->word;
}

bool StepArguments::flag(std::string_view keyword) {
  const std::string word = text(kByKeyword, keyword, "false");
  if (word == "true" || word == "True") return true;
  if (word != "false" && word != "False") throw misfit(std::string(keyword) + " is to be true or false");
  return false;
}

std::vector<float> StepArguments::floats(std::size_t place, std::string_view keyword) {
  const Argument& argument = get(place, keyword);
  if (!argument.word.empty()) throw misfit(std::string(keyword) + " is to be a list of numbers");
  return {argument.numbers.begin(), argument.numbers.end()};
}

DType StepArguments::dtype() {
  const std::string& word = get(0, "dtype").word;
  const auto named = dtype_named(word);
  if (!named) throw misfit("there is no dtype \"" + word + "\"");
  return *named;
}

std::pair<double, double> StepArguments::range(std::string_view keyword, std::pair<double, double> usual) {
  const Argument* argument = find(kByKeyword, keyword);
  if (argument == nullptr) return usual;
  if (argument->numbers.size() != 2) throw misfit(std::string(keyword) + " is to be a pair of numbers");
  return {argument->numbers[0], argument->numbers[1]};
}

Range StepArguments::span(std::size_t place, std::string_view keyword, Range absent, Range (*usual)(double)) {
  const Argument* argument = find(place, keyword);
  if (argument == nullptr) return absent;
  if (argument->numbers.size() == 2) return {argument->numbers[0], argument->numbers[1]};
  return usual(real(place, keyword, 0));
}

Padding StepArguments::padding(std::size_t place, std::string_view keyword) {
  const Argument* argument = find(place, keyword);
  if (argument == nullptr) return {};
  std::vector<std::int64_t> sides;
  for (const double side : argument->numbers) sides.push_back(whole_number(side, keyword));
  if (sides.size() == 1) return Padding::all(sides[0]);
  if (sides.size() == 2) return {sides[0], sides[1], sides[0], sides[1]};
  if (sides.size() != 4) throw misfit(std::string(keyword) + " is to be 1, 2 or 4 numbers");
  return {sides[0], sides[1], sides[2], sides[3]};
}

Fill StepArguments::fill(std::size_t place) {
  const Argument* argument = find(place, "fill");
  if (argument == nullptr) return {0};
  Fill values;
  for (const double value : argument->numbers) values.push_back(whole_number(value, "fill"));
  return values;
}

std::optional<std::pair<std::int64_t, std::int64_t>> StepArguments::two_sides() {
  const Argument& first = get(0, "size");
  if (first.list) {
    if (first.numbers.size() != 2) throw misfit("size is to be one number or two");
    return std::pair{whole_number(first.numbers[0], "size"), whole_number(first.numbers[1], "size")};
  }
  const std::int64_t height = whole(0, "size");
  if (find(1, "") == nullptr) return std::nullopt;
  return std::pair{height, whole(1, "width")};
}

void StepArguments::none_left() const {
  if (std::ranges::find(used_, false) != used_.end()) throw misfit("has more arguments than it takes");
}

}  // namespace penstock::chain_parse
