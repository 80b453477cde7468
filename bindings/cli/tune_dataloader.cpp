#include "command.hpp"
#include "output.hpp"

namespace penstock::cli {

Command tune_dataloader_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tune-dataloader", "Find the fastest settings of a torch DataLoader");
  command->footer(lines({
      "Usage:",
      "  penstock tune-dataloader [OPTIONS] FILE.py:FUNCTION",
      "Options:",
      "  --batches N                 Batches of a pass (default: about 3 seconds of the script's settings)",
      "  --workers LIST              Values of num_workers, such as 0,4,8 (default: up to all cores)",
      "  --seconds SECONDS           Start no run after this time",
      "  --json FILE                 Write the result as JSON to this file; - for stdout",
      "FUNCTION takes no arguments and returns a torch DataLoader. Starts `python3 -m penstock tune-dataloader`, or "
      "the "
      "Python in PENSTOCK_PYTHON.",
      "Examples:",
      "  penstock tune-dataloader train.py:make_loader",
      "  penstock tune-dataloader train.py:make_loader --workers 4,8,16 --seconds 300 --json table.json",
  }));
  return {command, [] { return run_python("tune-dataloader", {}); }};
}

}  // namespace penstock::cli
