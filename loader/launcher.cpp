#include <array>
#include <charconv>
#include <cstdlib>

#include <penstock/formats/error.hpp>
#include <penstock/loader/launcher.hpp>

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
    throw Error::invalid_argument(std::string("rank from the environment: ") + name + "=" + text + " is no number");
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
      throw Error::invalid_argument("rank from the environment: " + source + " are " + *rank + " and " + *world);
    }
    tried += (tried.empty() ? "" : ", ") + source;
  }
  throw Error::invalid_argument("rank from the environment: no launcher has set both of " + tried);
}

RankAndWorld rank_from_environment() {
  return rank_from_environment([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

}  // namespace penstock
