#include "command.hpp"

namespace penstock::cli {

Command tune_dataloader_command(CLI::App& app) {
  return python_command(
      app, "tune-dataloader", "Find the fastest settings of a torch DataLoader",
      {
          "Usage:",
          "  penstock tune-dataloader [OPTIONS] FILE.py:FUNCTION",
          "Options:",
          "  --batches N                 Batches of a pass (default: about 3 seconds of the script's settings)",
          "  --workers LIST              Values of num_workers, such as 0,4,8 (default: up to all cores)",
          "  --seconds SECONDS           Start no run after this time",
          "  --json FILE                 Write the result as JSON to this file; - for stdout",
          "FUNCTION takes no arguments and returns a torch DataLoader. Starts `python3 -m penstock tune-dataloader`, "
          "or the Python in PENSTOCK_PYTHON.",
          "Examples:",
          "  penstock tune-dataloader train.py:make_loader",
          "  penstock tune-dataloader train.py:make_loader --workers 4,8,16 --seconds 300 --json table.json",
      });
}

}  // namespace penstock::cli
