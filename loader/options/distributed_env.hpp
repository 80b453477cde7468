// Reads rank and world from the environment variables that torchrun, MPI and Slurm set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace penstock {

struct RankAndWorld {
  std::uint32_t rank = 0, world = 1;
  std::string source;  ///< the variables that they came from: "RANK and WORLD_SIZE"
};

/// Checks these pairs in this order; both variables of a pair must be set:
/// - RANK, WORLD_SIZE: torchrun and most launchers of PyTorch;
/// - OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE: Open MPI's mpirun;
/// - PMI_RANK, PMI_SIZE: MPICH, Intel MPI, and srun with PMI-2;
/// - SLURM_PROCID, SLURM_STEP_NUM_TASKS: srun. A batch script outside srun has no step. If it was submitted from inside
///   a step, it inherits these variables. They are then ignored: ROOT/proc shows that its parent runs a batch script.
/// Throws Error: invalid_argument, if there is no such pair, or one that is not `0 <= rank < world`.
RankAndWorld rank_from_environment();

/// The same for a given environment, for tests.
using Environment = std::function<std::optional<std::string>(const char* name)>;
RankAndWorld rank_from_environment(const Environment& environment, const std::filesystem::path& root = "/");

/// Returns the number of the job's processes on this machine. Reads LOCAL_WORLD_SIZE (torchrun),
/// OMPI_COMM_WORLD_LOCAL_SIZE (Open MPI), MPI_LOCALNRANKS (MPICH, Intel MPI), or SLURM_STEP_TASKS_PER_NODE and
/// SLURM_NODEID (srun, except for inherited ones as above). Returns 1 if none is set.
std::uint32_t local_ranks();
std::uint32_t local_ranks(const Environment& environment, const std::filesystem::path& root = "/");

}  // namespace penstock
