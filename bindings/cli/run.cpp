#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <penstock/error.hpp>

#include "command.hpp"

namespace penstock::cli {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void cannot_start(const std::string& python, int code) {
  throw Error(ErrorKind::io, python + ": cannot be started: " + std::strerror(code) +
                                 "; set PENSTOCK_PYTHON to the Python that trains");
}

// Python itself would only say that it has no module named penstock.
void require_package(const std::string& python) {
  std::vector<std::string> words{python, "-c",
                                 // without an origin, it is any folder of this name
                                 "import importlib.util, sys\n"
                                 "found = importlib.util.find_spec('penstock')\n"
                                 "sys.exit(found is None or found.origin is None)"};
  pid_t child = 0;
  if (const int code = ::posix_spawnp(&child, python.c_str(), nullptr, nullptr, pointers(words).data(), environ))
    cannot_start(python, code);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(
        ErrorKind::io,
        python + ": has no package penstock; install it there, or set PENSTOCK_PYTHON to the Python that trains");
}

}  // namespace

int run_python(const std::string& command, std::span<const char* const> arguments) {
  const char* set = std::getenv("PENSTOCK_PYTHON");
  const std::string python = set != nullptr && *set != '\0' ? set : "python3";
  require_package(python);
  std::vector<std::string> words{python, "-m", "penstock", command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  ::execvp(python.c_str(), pointers(words).data());
  cannot_start(python, errno);
}

Command python_command(CLI::App& app, const std::string& name, const std::string& description,
                       std::initializer_list<std::string_view> help) {
  CLI::App* command = app.add_subcommand(name, description);
  std::string text;
  for (const std::string_view line : help) text.append(text.empty() ? "" : "\n").append(line);
  command->footer(text);
  return {command, [name] { return run_python(name, {}); }};
}

Command run_command(CLI::App& app) {
  return python_command(
      app, "run", "Run a PyTorch training unedited, and report why its steps are slow",
      {
          "Usage:",
          "  penstock run [OPTIONS] [--] SCRIPT [ARGS...]",
          "  penstock run [OPTIONS] -m MODULE [ARGS...]",
          "Options:",
          "  --quiet                     Print only the line with the step time",
          "  --every SECONDS             Also print this line during the run, at most this often",
          "  --json FILE                 Write all figures as JSON to this file",
          "  --out FILE                  Write the few figures that later runs are compared with",
          "  --trace N                   Record N steps with torch.profiler, after 10 calls of optimizer.step()",
          "  --trace-file FILE           File of this trace (default: NAME.trace.json.gz)",
          "  --replace                   Replace the DataLoader of an image dataset with penstock, after a check on a "
          "sample",
          "Starts `python3 -m penstock run`, or the Python in PENSTOCK_PYTHON. All words after SCRIPT belong to the "
          "script.",
          "Examples:",
          "  penstock run train.py --epochs 3",
          "  penstock run --json run.json -- train.py --json metrics.json",
          "  torchrun --nproc-per-node 2 -m penstock run train.py",
      });
}

}  // namespace penstock::cli
