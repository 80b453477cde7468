#include <formats/tfrecord/tfrecord.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void tfrecord(Input input) {
  read_shard(kTfrecord, as_file(input, "shard.tfrecord"));
}

}  // namespace penstock::fuzz
