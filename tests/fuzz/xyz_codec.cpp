#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void xyz_codec(Input input) {
  decode_cloud("xyz", input);
}

}  // namespace penstock::fuzz
