#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void webp_codec(Input input) {
  decode_value("webp", input);
}

}  // namespace penstock::fuzz
