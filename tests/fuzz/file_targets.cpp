#include <array>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

std::span<const Target> file_targets() {
  static constexpr std::array kTargets{
      Target{"cifar", cifar},       Target{"combined_index", combined_index},
      Target{"example", example},   Target{"hdf5", hdf5},
      Target{"idx", idx},           Target{"kept_index", kept_index},
      Target{"labels", labels},     Target{"lmdb", lmdb},
      Target{"manifest", manifest}, Target{"mds", mds},
      Target{"megatron", megatron}, Target{"npy", npy},
      Target{"pattern", pattern},   Target{"pickle", pickle},
      Target{"table", table},       Target{"tar", tar},
      Target{"tfrecord", tfrecord}, Target{"zip", zip},
  };
  return kTargets;
}

}  // namespace penstock::fuzz
