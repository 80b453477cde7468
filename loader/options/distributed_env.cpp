#include <array>
#include <charconv>
#include <cstdlib>

#include <loader/options/distributed_env.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct Launcher {
  const char *rank, *world;
};

constexpr std::array<Launcher, 4> kLaunchers{{
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
}};

std::uint32_t number(const char* name, const std::string& text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || text.empty())
    throw Error::invalid_argument(std::string("rank from the environment: ") + name + "=" + text + " is not a number");
  return value;
}

std::optional<std::string> of_this_process(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace

RankAndWorld rank_from_environment(const Environment& environment) {
  std::string tried;
  for (const Launcher& launcher : kLaunchers) {
    const std::string source = std::string(launcher.rank) + " and " + launcher.world;
    const auto rank = environment(launcher.rank), world = environment(launcher.world);
    if (rank && world) {
      RankAndWorld found{number(launcher.rank, *rank), number(launcher.world, *world), source};
      if (found.rank < found.world) return found;
      throw Error::invalid_argument("rank from the environment: " + source + " are " + *rank + " and " + *world +
                                    ", but ranks begin at 0 and must be less than the number of ranks");
    }
    tried += (tried.empty() ? "" : ", ") + source;
  }
  throw Error::invalid_argument(
      "rank from the environment: no launcher has set both variables of one of these pairs: " + tried);
}

RankAndWorld rank_from_environment() {
  return rank_from_environment(of_this_process);
}

std::uint32_t local_ranks(const Environment& environment) {
  for (const char* name :
       {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"}) {
    const auto text = environment(name);
    if (!text) continue;
    std::uint32_t ranks = 0;
    const char* end = text->data() + text->size();
    const auto result = std::from_chars(text->data(), end, ranks);
    const bool uniform = result.ptr == end || (*result.ptr == '(' && text->find(',') == std::string::npos);  // "4(x2)"
    if (result.ec == std::errc() && uniform && ranks > 0) return ranks;
  }
  return 1;
}

std::uint32_t local_ranks() {
  return local_ranks(of_this_process);
}

}  // namespace penstock
