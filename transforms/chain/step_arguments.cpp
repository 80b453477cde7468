#include <algorithm>
#include <cmath>

#include <transforms/chain/step_arguments.hpp>

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
  if (found == nullptr) throw Misfit("needs " + std::string(keyword));
  return *found;
}

std::int64_t StepArguments::whole(double number, std::string_view keyword) const {
  constexpr double kMost = 1e15;
  const bool fits = number >= (is_text() ? 0 : -kMost) && number <= kMost && number == std::trunc(number);
  if (!fits) throw Misfit(std::string(keyword) + " is to be a whole number");
  return static_cast<std::int64_t>(number);
}

std::int64_t StepArguments::whole(const Argument& argument, std::string_view keyword) const {
  return whole(argument.numbers.size() == 1 ? argument.numbers[0] : std::nan(""), keyword);
}

double StepArguments::real(const Argument& argument, std::string_view keyword) {
  if (argument.numbers.size() != 1 || argument.list) throw Misfit(std::string(keyword) + " is to be a number");
  return argument.numbers[0];
}

const std::string& StepArguments::word(const Argument& argument, std::string_view keyword) {
  if (argument.word.empty()) throw Misfit(std::string(keyword) + " is to be a word");
  return argument.word;
}

void StepArguments::none_left() const {
  const auto left = std::ranges::find(used_, false);
  if (left == used_.end()) return;
  const std::string& keyword = arguments_[static_cast<std::size_t>(left - used_.begin())].keyword;
  if (keyword.empty()) throw Misfit("has more arguments than it takes");
  throw Misfit("takes no argument \"" + keyword + "\", or has it already");
}

}  // namespace penstock
