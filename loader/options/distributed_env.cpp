#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include <loader/options/distributed_env.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct Launcher {
  const char *rank, *world;
};

constexpr std::string_view kSlurmRank = "SLURM_PROCID";
constexpr std::array<Launcher, 4> kLaunchers{{
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {kSlurmRank.data(), "SLURM_STEP_NUM_TASKS"},
}};

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::uint32_t number(const char* name, const std::string& text) {
  if (const auto value = number_in(text)) return *value;
  throw Error::invalid_argument(std::string("rank from the environment: ") + name + "=" + text + " is not a number");
}

std::optional<std::string> of_this_process(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

// A batch script that was submitted from inside a step inherits the variables of that step, except for SLURM_PROCID,
// which is 0. The parent of a batch script is named "slurmstepd: [JOB.batch]".
bool in_batch_script(const Environment& environment, const std::filesystem::path& root) {
  const auto task = environment("SLURM_TASK_PID");
  if (!task) return false;
  std::ifstream status(root / "proc" / *task / "status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with("PPid:")) continue;
  const std::size_t parent = line.find_first_of("0123456789");
  if (!status || parent == std::string::npos) return false;
  std::ifstream command(root / "proc" / line.substr(parent) / "cmdline");
  std::string title;
  std::getline(command, title, '\0');
  return title.starts_with("slurmstepd: [") && title.find(".batch]") != std::string::npos;
}

// Returns the number of tasks on the node with this number, from SLURM_STEP_TASKS_PER_NODE: "4", "4(x2)" or "2(x3),1".
// Returns 0 if the text has another form or too few nodes.
std::uint32_t tasks_of_node(std::string_view text, std::uint32_t node) {
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const char* end = entry.data() + entry.size();
    std::uint32_t tasks = 0, nodes = 1;
    auto read = std::from_chars(entry.data(), end, tasks);
    if (read.ec != std::errc()) return 0;
    if (std::string_view(read.ptr, end).starts_with("(x")) read = std::from_chars(read.ptr + 2, end, nodes);
    if (read.ec != std::errc() || (read.ptr != end && *read.ptr != ')')) return 0;
    if (node < nodes) return tasks;
    node -= nodes;
  }
  return 0;
}

}  // namespace

RankAndWorld rank_from_environment(const Environment& environment, const std::filesystem::path& root) {
  std::string tried;
  for (const Launcher& launcher : kLaunchers) {
    const std::string source = std::string(launcher.rank) + " and " + launcher.world;
    tried += (tried.empty() ? "" : ", ") + source;
    if (std::string_view(launcher.rank) == kSlurmRank && in_batch_script(environment, root)) continue;
    const auto rank = environment(launcher.rank), world = environment(launcher.world);
    if (rank && world) {
      RankAndWorld found{number(launcher.rank, *rank), number(launcher.world, *world), source};
      if (found.rank < found.world) return found;
      throw Error::invalid_argument("rank from the environment: " + source + " are " + *rank + " and " + *world +
                                    ", but ranks begin at 0 and must be less than the number of ranks");
    }
  }
  throw Error::invalid_argument(
      "rank from the environment: no launcher has set both variables of one of these pairs: " + tried +
      (environment("SLURM_JOB_ID") ? "; a Slurm batch script has no rank, so start the program with srun" : ""));
}

RankAndWorld rank_from_environment() {
  return rank_from_environment(of_this_process);
}

std::uint32_t local_ranks(const Environment& environment, const std::filesystem::path& root) {
  const auto number_of = [&](const char* name) { return number_in(environment(name).value_or("")).value_or(0); };
  for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const std::uint32_t ranks = number_of(name); ranks > 0) return ranks;
  }
  if (in_batch_script(environment, root)) return 1;
  const std::string per_node = environment("SLURM_STEP_TASKS_PER_NODE").value_or("");
  return std::max(1u, tasks_of_node(per_node, number_of("SLURM_NODEID")));
}

std::uint32_t local_ranks() {
  return local_ranks(of_this_process);
}

}  // namespace penstock
