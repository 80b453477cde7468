#include <formats/io/crc32c.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/packed.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

// A dataset of one shard, whose description is then replaced.
std::filesystem::path make_packed() {
  DatasetWriter writer(folder() / "packed", {.fields = {{.name = "txt", .codec = "txt"}}, .classes = {}});
  const std::string_view text = "some text";
  const auto bytes = std::as_bytes(std::span(text));
  const FieldValue value{.field = 0, .bytes = bytes, .crc32c = crc32c(bytes), .header = {}};
  for (const std::string_view key : {"a", "b", "c"}) writer.add(key, {&value, 1});
  writer.finish();
  return writer.destination();
}

}  // namespace

void manifest(Input input) {
  static const std::filesystem::path packed = make_packed();
  const Manifest manifest = Manifest::from_json(text_of(input));
  const std::string text = manifest.to_json();
  require(Manifest::from_json(text) == manifest, "a manifest that is another one when written and read");
  as_file(input, "packed/" + std::string(Manifest::kFileName));
  const Dataset dataset = open_packed(packed);
  read_dataset(dataset);
  if (dataset.shard_count() != 0) verify_shard(dataset, 0);
}

}  // namespace penstock::fuzz
