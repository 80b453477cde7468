#include <string>
#include <vector>

#include "command.hpp"

namespace penstock::cli {

void refuse_old_option(CLI::App& command, const std::string& old, const std::string& present) {
  const auto refuse = [old, present](const std::vector<std::string>&) {
    throw CLI::ValidationError(old, "it is " + present + " now");
  };
  command.add_option_function<std::vector<std::string>>(old, refuse)
      ->expected(0, CLI::detail::expected_max_vector_size)
      ->group("");
}

void refuse_old_command(CLI::App& app, const std::string& old, const std::string& present) {
  CLI::App* command = app.add_subcommand(old)->group("")->allow_extras();
  command->parse_complete_callback([old, present] { throw CLI::ValidationError(old, "it is " + present + " now"); });
}

}  // namespace penstock::cli
