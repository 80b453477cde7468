#include <formats/cifar/cifar.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void cifar(Input input) {
  read_shard(kCifar, as_file(input, "data_batch_1"));
}

}  // namespace penstock::fuzz
