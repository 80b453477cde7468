#include <string>
#include <string_view>
#include <vector>

#include <base/names/closest.hpp>
#include <base/names/hints.hpp>

#include "command.hpp"

namespace penstock::cli {
namespace {

bool has(const CLI::App& command, std::string_view option) {
  return command.get_option_no_throw(std::string(option)) != nullptr;
}

std::string unknown_command(const CLI::App& app, const std::string& named) {
  const std::string hint = hint_for("command", named);
  if (!hint.empty()) return "there is no command " + named + hint;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  const std::string_view closest = closest_name(named, known);
  return "there is no command " + named +
         (closest.empty() ? "; penstock --help lists the commands" : "; did you mean " + std::string(closest) + "?");
}

}  // namespace

std::string hint_of(const CLI::App& app, std::span<const char* const> words) {
  if (words.empty()) return {};
  const std::string named = words.front();
  const std::vector<const CLI::App*> command =
      app.get_subcommands([&](const CLI::App* each) { return each->get_name() == named; });
  if (command.empty()) return named.starts_with('-') ? std::string() : unknown_command(app, named);
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
