#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void npy_codec(Input input) {
  decode_value("npy", input);
}

}  // namespace penstock::fuzz
