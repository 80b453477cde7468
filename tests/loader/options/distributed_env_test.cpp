// Tests rank and world as launchers tell them.
#include <filesystem>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include <loader/options/distributed_env.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::distributed_env_test {
namespace {

RankAndWorld rank_in(const std::map<std::string, std::string>& variables, const std::filesystem::path& root = "/") {
  const auto variable = [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return rank_from_environment(variable, root);
}

}  // namespace

TEST_CASE("rank and world come from the launcher's variables, and so does the name of their source") {
  CHECK(rank_in({{"RANK", "3"}, {"WORLD_SIZE", "8"}}).rank == 3);
  CHECK(rank_in({{"RANK", "3"}, {"WORLD_SIZE", "8"}}).world == 8);
  CHECK(rank_in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}).source ==
        "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE");
  CHECK(rank_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).world == 2);
  CHECK(rank_in({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "6"}}).rank == 5);
}

TEST_CASE("torchrun inside a Slurm step counts, not the step") {
  const auto found =
      rank_in({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"RANK", "7"}, {"WORLD_SIZE", "16"}});
  CHECK(found.rank == 7);
  CHECK(found.world == 16);
}

TEST_CASE("a Slurm batch script outside srun is not one of many ranks") {
  CHECK_THROWS_WITH_AS(rank_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), doctest::Contains("no launcher"),
                       Error);
}

TEST_CASE("a batch script that was submitted from inside a step does not take the place of a task of that step") {
  const TemporaryFolder folder;
  write_file(folder / "proc/131/status", "Name:\tpython\nPPid:\t70\nUid:\t0\n");
  const std::map<std::string, std::string> inherited{
      {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_JOB_ID", "3"}, {"SLURM_TASK_PID", "131"}};
  CHECK(rank_in(inherited, folder / "").world == 2);  // the parent is not visible, as in a container
  write_file(folder / "proc/70/cmdline", std::string("slurmstepd: [3.0]\0\0", 19));
  CHECK(rank_in(inherited, folder / "").world == 2);
  write_file(folder / "proc/70/cmdline", std::string("slurmstepd: [3.batch]\0", 22));
  CHECK_THROWS_WITH_AS(rank_in(inherited, folder / ""), doctest::Contains("start the program with srun"), Error);
  auto of_torchrun = inherited;
  of_torchrun.insert({{"RANK", "1"}, {"WORLD_SIZE", "4"}});
  CHECK(rank_in(of_torchrun, folder / "").rank == 1);
}

TEST_CASE("a step with other numbers of tasks on its nodes tells each node its own") {
  const auto ranks_on = [](const char* node) {
    return local_ranks([&](const char* name) -> std::optional<std::string> {
      if (std::string_view(name) == "SLURM_NODEID") return node;
      if (std::string_view(name) == "SLURM_STEP_TASKS_PER_NODE") return "4(x2),3,1";
      return std::nullopt;
    });
  };
  CHECK(ranks_on("0") == 4);
  CHECK(ranks_on("1") == 4);
  CHECK(ranks_on("2") == 3);
  CHECK(ranks_on("3") == 1);
  CHECK(ranks_on("4") == 1);
}

TEST_CASE("half a pair, a rank outside the world, and what is no number are refused") {
  CHECK_THROWS_AS(rank_in({{"RANK", "0"}}), Error);
  CHECK_THROWS_WITH_AS(rank_in({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), doctest::Contains("RANK and WORLD_SIZE"), Error);
  CHECK_THROWS_WITH_AS(rank_in({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}), doctest::Contains("RANK=-1"), Error);
  CHECK_THROWS_AS(rank_in({{"RANK", ""}, {"WORLD_SIZE", "4"}}), Error);
}

TEST_CASE("launchers tell how many ranks share a machine; what makes no sense counts as one") {
  const auto ranks = [](const char* name, const char* value) {
    return local_ranks([&](const char* asked) -> std::optional<std::string> {
      if (std::string_view(asked) != name) return std::nullopt;
      return value;
    });
  };
  CHECK(ranks("LOCAL_WORLD_SIZE", "8") == 8);
  CHECK(ranks("OMPI_COMM_WORLD_LOCAL_SIZE", "2") == 2);
  CHECK(ranks("MPI_LOCALNRANKS", "3") == 3);
  CHECK(ranks("SLURM_STEP_TASKS_PER_NODE", "4") == 4);
  CHECK(ranks("SLURM_STEP_TASKS_PER_NODE", "4(x2)") == 4);
  CHECK(ranks("SLURM_STEP_TASKS_PER_NODE", "4(x2),1") == 4);
  CHECK(ranks("SLURM_STEP_TASKS_PER_NODE", "(x2)") == 1);
  CHECK(ranks("SLURM_STEP_TASKS_PER_NODE", "") == 1);
  CHECK(ranks("LOCAL_WORLD_SIZE", "0") == 1);
  CHECK(ranks("LOCAL_WORLD_SIZE", "many") == 1);
  CHECK(ranks("NOTHING", "4") == 1);
}

}  // namespace penstock::test::distributed_env_test
