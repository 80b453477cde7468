#include <base/names/hints.hpp>

#include "command.hpp"

namespace penstock::cli {
namespace {

bool has(const CLI::App& command, std::string_view option) {
  return command.get_option_no_throw(std::string(option)) != nullptr;
}

}  // namespace

std::string hint_of(const CLI::App& app, std::span<const char* const> words) {
  if (words.empty()) return {};
  const std::string named = words.front();
  const std::vector<const CLI::App*> command =
      app.get_subcommands([&](const CLI::App* each) { return each->get_name() == named; });
  if (command.empty()) {
    const std::string hint = hint_for("command", named);
    return hint.empty() ? hint : "there is no command " + named + hint;
  }
  for (const std::string_view word : words.subspan(1)) {
    const std::string_view option = word.substr(0, word.find('='));
    for (const Hint& hint : hints()) {
      if (hint.theirs != option || has(*command.front(), option)) continue;
      if (hint.where == named || (hint.where == "option" && has(*command.front(), hint.ours)))
        return "penstock " + named + " has no option " + std::string(option) + hint_for(hint.where, option);
    }
  }
  return {};
}

}  // namespace penstock::cli
