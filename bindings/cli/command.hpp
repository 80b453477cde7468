// The subcommands of `penstock`: one file each, all listed in main.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace penstock::cli {

/// A subcommand with its options declared; `run` does the work once they are parsed and returns the exit code:
/// 0 good, 1 the data or the run failed. Wrong usage is a CLI::ParseError or an Error of kind invalid_argument.
struct Command {
  CLI::App* parser;
  std::function<int()> run;
};

Command synth_command(CLI::App& app);
Command overview_command(CLI::App& app);
Command pack_command(CLI::App& app);
Command pack_join_command(CLI::App& app);
Command info_command(CLI::App& app);
Command ls_command(CLI::App& app);
Command cache_command(CLI::App& app);
Command cat_command(CLI::App& app);
Command inspect_command(CLI::App& app);
Command verify_command(CLI::App& app);
Command audit_command(CLI::App& app);
Command stage_command(CLI::App& app);
Command serve_command(CLI::App& app);
Command bench_command(CLI::App& app);
Command bench_sampling_command(CLI::App& app);
Command tune_command(CLI::App& app);
Command tune_dataloader_command(CLI::App& app);
Command top_command(CLI::App& app);
Command run_command(CLI::App& app);
Command doctor_command(CLI::App& app);

/// Replaces this process by `python3 -m penstock COMMAND ARGUMENTS`. main() calls it instead of the parser, which would
/// reject the options of the script. Throws Error: io, if Python or its package penstock is missing.
int run_python(const std::string& command, std::span<const char* const> arguments);
/// A command that run_python() runs. help: lines after the description.
Command python_command(CLI::App& app, const std::string& name, const std::string& description,
                       std::initializer_list<std::string_view> help);

/// For a command line that `app` refused: an error that names the replacement, if base/names/hints.hpp has the
/// subcommand or one of the options; otherwise empty. `words` begins after the program's name.
std::string hint_of(const CLI::App& app, std::span<const char* const> words);

}  // namespace penstock::cli
