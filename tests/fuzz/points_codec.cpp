#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void points_codec(Input input) {
  decode_cloud("points", input);
}

}  // namespace penstock::fuzz
