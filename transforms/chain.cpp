#include <algorithm>
#include <array>

#include <penstock/chain.hpp>
#include <penstock/error.hpp>
#include <transforms/chain/step_table.hpp>
#include <transforms/chain/window.hpp>

namespace penstock {
namespace {

constexpr const char* kFollowsWindow = "follow() uses the window of the output that it names; remove window()";

template <typename... Kinds>
std::span<const StepTable* const> tables_of(StepList<Kinds...>) {
  static const std::array<const StepTable*, sizeof...(Kinds)> tables{&Kinds::table()...};
  return tables;
}

}  // namespace

std::span<const StepTable* const> step_tables() {
  return tables_of(AllSteps{});
}

Chain operator|(Chain left, const Chain& right) {
  if (left.misuse.empty()) left.misuse = right.misuse;
  if (!right.sources.empty()) {
    if (!left.sources.empty() || !left.steps.empty()) left.misuse = "field() must come first in a chain, and only once";
    left.sources = right.sources;
  }
  if (right.window != nullptr) {
    if (left.window != nullptr || !left.steps.empty())
      left.misuse = "window() must come first in a chain, and only once";
    if (left.followed) left.misuse = kFollowsWindow;
    left.window = right.window;
  }
  if (right.followed) {
    if (left.followed || !left.steps.empty())
      left.misuse = "follow() must come before the steps of a chain, and only once";
    if (left.window != nullptr) left.misuse = kFollowsWindow;
    left.followed = right.followed;
  }
  left.steps.insert(left.steps.end(), right.steps.begin(), right.steps.end());
  return left;
}

Chain field(const std::string& alternatives) {
  Chain chain;
  chain.sources = alternatives_in(alternatives, "field");
  return chain;
}

Chain follow(const std::string& output) {
  Chain chain;
  chain.followed = output;
  return chain;
}

std::string to_string(const Chain& chain) {
  std::string line;
  const auto add = [&line](const std::string& part) { line += (line.empty() ? "" : " | ") + part; };
  if (chain.window != nullptr) {
    add(to_string(*chain.window, chain.sources));
  } else if (!chain.sources.empty()) {
    std::string names;
    for (const std::string& source : chain.sources) names += (names.empty() ? "" : "|") + source;
    add("field(" + names + ")");
  }
  if (chain.followed) add("follow(" + *chain.followed + ")");
  for (const Step& step : chain.steps) add(to_string(step));
  return line;
}

}  // namespace penstock
