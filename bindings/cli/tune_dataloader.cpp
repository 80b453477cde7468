#include "command.hpp"

namespace penstock::cli {

Command tune_dataloader_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tune-dataloader", "Find the fastest settings of a torch DataLoader");
  command->footer(
      "Usage:\n"
      "  penstock tune-dataloader [OPTIONS] FILE.py:FUNCTION\n"
      "Options:\n"
      "  --batches N                 Batches of a pass (default: about 3 seconds of the script's settings)\n"
      "  --workers LIST              Values of num_workers, such as 0,4,8 (default: up to all cores)\n"
      "  --seconds SECONDS           Start no run after this time\n"
      "  --json FILE                 Write the result as JSON to this file; - for stdout\n"
      "FUNCTION takes no arguments and returns a torch DataLoader. Starts `python3 -m penstock tune-dataloader`, or "
      "the "
      "Python in PENSTOCK_PYTHON.\n"
      "Examples:\n"
      "  penstock tune-dataloader train.py:make_loader\n"
      "  penstock tune-dataloader train.py:make_loader --workers 4,8,16 --seconds 300 --json table.json");
  return {command, [] { return run_python("tune-dataloader", {}); }};
}

}  // namespace penstock::cli
