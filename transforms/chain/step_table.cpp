#include <algorithm>

#include <penstock/base/error.hpp>
#include <transforms/chain/step_table.hpp>

namespace penstock {

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
