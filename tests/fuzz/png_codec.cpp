#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void png_codec(Input input) {
  decode_value("png", input);
}

}  // namespace penstock::fuzz
