#include <formats/lmdb/lmdb.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void lmdb(Input input) {
  read_shard(kLmdb, as_file(input, "data.mdb"));
}

}  // namespace penstock::fuzz
