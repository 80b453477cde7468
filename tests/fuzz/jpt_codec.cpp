#include <penstock/transforms/jpt.hpp>
#include <penstock/transforms/jpt/encoder.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void jpt_codec(Input input) {
  constexpr std::uint64_t kMostRestored = std::uint64_t{1} << 20;
  const FieldSchema schema{.name = "jpg", .codec = "jpt"};
  const Layout layout = penstock::jpt_codec().decoder(schema)->peek({.schema = &schema, .bytes = input});
  try {
    decode_value("jpt", input);
  } catch (const Error&) {
  }
  if (element_count(layout.shape) > kMostRestored) return;
  static jpt::Restorer restorer;
  restorer.restore(input);
}

}  // namespace penstock::fuzz
