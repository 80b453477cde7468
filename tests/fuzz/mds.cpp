#include <algorithm>

#include <formats/mds/mds.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

// index.json up to the first zero byte, the shards' bytes behind it.
void mds(Input input) {
  const auto end = static_cast<std::size_t>(std::ranges::find(input, std::byte{0}) - input.begin());
  as_file(input.subspan(std::min(input.size(), end + 1)), "mds/shard-000000.mds");
  as_file(input.subspan(std::min(input.size(), end + 1)), "mds/shard-000000.mds.zstd");
  as_file(input.first(end), "mds/index.json");
  read_shard(kMds, folder() / "mds");
}

}  // namespace penstock::fuzz
