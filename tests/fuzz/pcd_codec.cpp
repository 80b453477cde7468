#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void pcd_codec(Input input) {
  decode_cloud("pcd", input);
}

}  // namespace penstock::fuzz
