#include <penstock/chain.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void chain(Input input) {
  const std::string text = to_string(parse_chain(text_of(input)));
  require(to_string(parse_chain(text)) == text, "a chain that is another one when written and read");
}

}  // namespace penstock::fuzz
