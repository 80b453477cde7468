#include <algorithm>
#include <cmath>

#include <penstock/error.hpp>
#include <transforms/chain/renamed_words.hpp>
#include <transforms/chain/step_table.hpp>

namespace penstock {

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
  if (found == nullptr) refuse_old_names();
  if (found == nullptr) throw Misfit("needs " + std::string(keyword));
  return *found;
}

std::int64_t StepArguments::whole(double number, std::string_view keyword) const {
  constexpr double kMost = 1e15;
  const bool fits = number >= (is_text() ? 0 : -kMost) && number <= kMost && number == std::trunc(number);
  if (!fits) throw Misfit(std::string(keyword) + " must be a whole number");
  return static_cast<std::int64_t>(number);
}

std::int64_t StepArguments::whole(const Argument& argument, std::string_view keyword) const {
  return whole(argument.numbers.size() == 1 ? argument.numbers[0] : std::nan(""), keyword);
}

double StepArguments::real(const Argument& argument, std::string_view keyword) {
  if (argument.numbers.size() != 1 || argument.list) throw Misfit(std::string(keyword) + " must be a number");
  return argument.numbers[0];
}

const std::string& StepArguments::word(const Argument& argument, std::string_view keyword) {
  if (argument.word.empty()) throw Misfit(std::string(keyword) + " must be a word");
  return argument.word;
}

void StepArguments::refuse_old_names() const {
  for (const Argument& argument : arguments_) {
    const std::string_view present = present_parameter(step_, argument.keyword);
    if (present.empty()) continue;
    throw Misfit("takes no argument \"" + argument.keyword + "\": it is " + std::string(present) + " now");
  }
}

void StepArguments::none_left() const {
  const auto left = std::ranges::find(used_, false);
  if (left == used_.end()) return;
  const std::string& keyword = arguments_[static_cast<std::size_t>(left - used_.begin())].keyword;
  if (keyword.empty()) throw Misfit("has too many arguments");
  refuse_old_names();
  throw Misfit("takes no argument \"" + keyword + "\", or it is given twice");
}

void StepTable::read_into(void* step, StepArguments& given) const {
  std::size_t place = 0;
  bool in_places = true;
  for (const auto& parameter : parameters_) {
    const bool named = parameter->rules.keyword && !given.is_text();
    parameter->read(given, in_places && !named ? place++ : StepArguments::kByKeyword, step);
    in_places &= !(given.is_text() && parameter->takes_two_places());
  }
}

std::string StepTable::text_of(const void* step) const {
  std::string list;
  for (const auto& parameter : parameters_) {
    const Shown shown = parameter->rules.shown;
    const std::string value = parameter->text(step);
    const bool left_out = shown == Shown::unless_usual || shown == Shown::by_place_unless_usual;
    if (left_out && value == parameter->text(usual_)) continue;
    if (!list.empty()) list += ", ";
    if (shown == Shown::by_keyword || shown == Shown::unless_usual) list += std::string(parameter->name) + "=";
    list += value;
  }
  return std::string(name) + "(" + list + ")";
}

void StepTable::check_parameters(const void* step) const {
  for (const auto& parameter : parameters_) {
    const std::string fault = parameter->fault(step);
    if (!fault.empty()) throw Error::invalid_argument(std::string(name) + "() " + fault);
  }
}

std::string to_string(const Step& step) {
  return step.table().text(step);
}

Traits Step::traits() const {
  return table_->traits(*this);
}

void check_numbers(const Step& step) {
  step.table().check(step);
}

std::vector<std::string> alternatives_in(const std::string& text, const std::string& function) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    if (names.back().empty()) throw Error::invalid_argument(function + "(\"" + text + "\") has an empty name");
    begin = end + 1;
  }
  return names;
}

Chain one_step(Step step) {
  check_numbers(step);
  Chain chain;
  chain.steps.push_back(std::move(step));
  return chain;
}

}  // namespace penstock
