#include <formats/megatron/megatron.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

// The index; its own bytes stand for the tokens, too.
void megatron(Input input) {
  as_file(input, "tokens.bin");
  read_shard(kMegatron, as_file(input, "tokens.idx"));
}

}  // namespace penstock::fuzz
