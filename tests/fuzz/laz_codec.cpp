#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void laz_codec(Input input) {
  decode_cloud("laz", input);
}

}  // namespace penstock::fuzz
