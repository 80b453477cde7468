#include <array>

#include <formats/table/table_format.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

// The first byte chooses the kind of file. Its rows may name a.png.
void table(Input input) {
  static constexpr std::array kNames{"table.csv", "table.tsv", "table.json", "table.jsonl", "table.pkl"};
  if (input.empty()) return;
  as_file({}, "a.png");
  read_shard(kTable, as_file(input.subspan(1), kNames[std::to_integer<std::size_t>(input[0]) % kNames.size()]));
}

}  // namespace penstock::fuzz
