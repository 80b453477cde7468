#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void off_codec(Input input) {
  decode_cloud("off", input);
}

}  // namespace penstock::fuzz
