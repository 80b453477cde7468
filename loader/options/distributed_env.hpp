// Reads rank and world from the environment variables that torchrun, MPI and Slurm set.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace penstock {

struct RankAndWorld {
  std::uint32_t rank = 0, world = 1;
  std::string source;  ///< "RANK and WORLD_SIZE": the variables they came from
};

/// Looked for in this order, both variables of a pair or none:
/// - RANK, WORLD_SIZE: torchrun and most launchers of PyTorch;
/// - OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE: Open MPI's mpirun;
/// - PMI_RANK, PMI_SIZE: MPICH, Intel MPI, and srun with PMI-2;
/// - SLURM_PROCID, SLURM_STEP_NUM_TASKS: srun. A batch script outside srun has no step and so is not one of many.
/// Throws Error: invalid_argument, when there is no such pair, or one that is not `0 <= rank < world`.
RankAndWorld rank_from_environment();

/// The same with an environment of the caller's, for tests.
using Environment = std::function<std::optional<std::string>(const char* name)>;
RankAndWorld rank_from_environment(const Environment& environment);

/// Processes of the job on this machine, as LOCAL_WORLD_SIZE (torchrun), OMPI_COMM_WORLD_LOCAL_SIZE (Open MPI),
/// MPI_LOCALNRANKS (MPICH, Intel MPI) or SLURM_STEP_TASKS_PER_NODE (srun, where all nodes have as many) tells; 1 when
/// none does.
std::uint32_t local_ranks();
std::uint32_t local_ranks(const Environment& environment);

}  // namespace penstock
