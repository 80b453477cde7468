#include <formats/zip/zip.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void zip(Input input) {
  read_shard(kZip, as_file(input, "shard.zip"));
}

}  // namespace penstock::fuzz
