#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void ply_codec(Input input) {
  decode_cloud("ply", input);
}

}  // namespace penstock::fuzz
