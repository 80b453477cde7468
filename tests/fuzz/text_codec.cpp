#include <penstock/base/error.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void text_codec(Input input) {
  for (const std::string_view codec : {"cls", "txt", "json", "raw"}) {
    try {
      decode_value(codec, input);
    } catch (const Error&) {
    }
  }
}

}  // namespace penstock::fuzz
