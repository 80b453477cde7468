// The `penstock` command: parses, calls the library, and turns what happened into an exit code and one line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <base/handled_error.hpp>
#include <base/waits/interruption.hpp>
#include <formats/places/address.hpp>
#include <penstock/error.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"

namespace {

using penstock::Error;
using penstock::ErrorKind;
using penstock::cli::Command;

enum Exit { kGood = 0, kFailed = 1, kUsage = 2, kInterrupted = 130 };

int complain(std::string message, Exit code) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fprintf(stderr, "penstock: error: %s\n", message.c_str());
  return code;
}

std::vector<Command> add_commands(CLI::App& app) {
  using namespace penstock::cli;
  return {synth_command(app),     pack_command(app),
          pack_join_command(app), info_command(app),
          ls_command(app),        cat_command(app),
          inspect_command(app),   verify_command(app),
          audit_command(app),     stage_command(app),
          bench_command(app),     bench_sampling_command(app),
          tune_command(app),      tune_dataloader_command(app),
          top_command(app),       run_command(app),
          overview_command(app),  doctor_command(app),
          cache_command(app),     serve_command(app)};
}

// The commands whose options are parsed in Python.
bool is_python(const std::string& command) {
  return command == "run" || command == "tune-dataloader";
}

// A command may say how to resume. Other errors that the interruption caused are not shown.
std::string interruption(const Error& error) {
  return error.cause().starts_with("interrupted") ? error.cause() : "interrupted";
}

// The dataset that the command was given.
std::string subject(const CLI::App& parser) {
  for (const char* name : {"DATASET", "SRC"}) {
    const CLI::Option* option = parser.get_option_no_throw(name);
    if (option != nullptr && !option->results().empty()) return penstock::shown_place(option->results().front());
  }
  return {};
}

int run(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (!command.parser->parsed()) continue;
    try {
      return command.run();
    } catch (const penstock::cli::BrokenPipe&) {
      throw;
    } catch (const CLI::Error&) {
      throw;
    } catch (const Error&) {
      throw;
    } catch (...) {
      throw penstock::handled_error({.dataset = subject(*command.parser)});
    }
  }
  return kGood;
}

}  // namespace

int main(int argc, char** argv) {
  penstock::cli::catch_signals();
  const penstock::Interruptible waits(penstock::cli::interrupted);
  CLI::App app("A data loader for ML training, with a C++ core and a Python API.", "penstock");
  app.set_version_flag("--version", "penstock " PENSTOCK_VERSION);
  app.require_subcommand(1);
  app.footer(
      "`penstock COMMAND --help` shows a command's options and examples.\n"
      "Exit codes: 0 success, 1 invalid data or a failed run, 2 wrong usage, 130 interrupted.");
  try {
    const std::vector<Command> commands = add_commands(app);
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() > 1 && is_python(words[0]) && words[1] != "--help" && words[1] != "-h")
      return penstock::cli::run_python(words[0], {argv + 2, argv + argc});
    app.parse(argc, argv);
    return run(commands);
  } catch (const penstock::cli::BrokenPipe&) {
    return kGood;
  } catch (const CLI::Success& help) {  // --help and --version print and end well
    return app.exit(help);
  } catch (const CLI::ParseError& wrong) {
    const std::string hint = penstock::cli::hint_of(app, {argv + 1, argv + argc});
    return complain(hint.empty() ? wrong.what() : hint, kUsage);
  } catch (const Error& error) {
    if (penstock::cli::interrupted()) return complain(interruption(error), kInterrupted);
    const bool data = dynamic_cast<const penstock::cli::OpenFailure*>(&error) != nullptr;
    return complain(error.what(), error.kind() == ErrorKind::invalid_argument && !data ? kUsage : kFailed);
  } catch (...) {
    return complain(penstock::handled_error().what(), kFailed);
  }
}
