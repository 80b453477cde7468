#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void las_codec(Input input) {
  decode_cloud("las", input);
}

}  // namespace penstock::fuzz
