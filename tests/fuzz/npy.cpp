#include <formats/npy/npy.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void npy(Input input) {
  const bool archive = text_of(input).starts_with("PK");
  read_shard(kNpy, as_file(input, archive ? "shard.npz" : "shard.npy"));
}

}  // namespace penstock::fuzz
