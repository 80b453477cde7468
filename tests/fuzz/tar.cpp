#include <formats/tar/tar.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void tar(Input input) {
  read_shard(kTar, as_file(input, "shard.tar"));
}

}  // namespace penstock::fuzz
