#include <cstdint>
#include <cstdlib>

#include <formats/hdf5/hdf5.hpp>

#include "fuzz/targets.hpp"

// These stand before libhdf5's own: a reader that hands a hostile file to it ends here.
extern "C" {
[[gnu::visibility("default")]] std::int64_t H5Fopen(const char*, unsigned, std::int64_t) {
  std::abort();
}
[[gnu::visibility("default")]] int H5Fis_accessible(const char*, std::int64_t) {
  std::abort();
}
}

namespace penstock::fuzz {

void hdf5(Input input) {
  read_shard(kHdf5, as_file(input, "shard.h5"));
}

}  // namespace penstock::fuzz
