#include <string>
#include <vector>

#include <base/names/hints.hpp>

#include "command.hpp"

namespace penstock::cli {
namespace {

void refuse(CLI::App& command, const Hint& hint) {
  const std::string theirs(hint.theirs);
  if (command.get_option_no_throw(theirs) != nullptr) return;
  const std::string refused =
      "penstock " + command.get_name() + " has no option " + theirs + hint_for(hint.where, theirs);
  const auto refusal = [refused](const std::vector<std::string>&) { throw CLI::ValidationError(refused); };
  command.add_option_function<std::vector<std::string>>(theirs, refusal)
      ->expected(0, CLI::detail::expected_max_vector_size)
      ->group("");
}

}  // namespace

void refuse_hinted_names(CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const Hint& hint : hints()) {
    for (CLI::App* command : commands) {
      const bool renamed = hint.where == "option" && command->get_option_no_throw(std::string(hint.ours)) != nullptr;
      if (renamed || hint.where == command->get_name()) refuse(*command, hint);
    }
    if (hint.where != "command") continue;
    const std::string theirs(hint.theirs), refused = "there is no command " + theirs + hint_for("command", theirs);
    CLI::App* const command = app.add_subcommand(theirs)->group("")->allow_extras();
    command->parse_complete_callback([refused] { throw CLI::ValidationError(refused); });
  }
}

}  // namespace penstock::cli
