#include <memory>
#include <string>
#include <vector>

#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/mosaic.hpp>
#include <formats/packed/combined_index.hpp>
#include <formats/packed/manifest.hpp>

#include "fuzz/seeds.hpp"
#include "support/encoded.hpp"

namespace penstock::fuzz {
namespace {

namespace fs = std::filesystem;
using test::Bytes;

const std::vector<FieldSchema>& fields() {
  static const std::vector<FieldSchema> list{
      {.name = "jpg", .codec = "jpeg"},
      {.name = "cls", .codec = "cls"},
      {.name = "npy", .codec = "npy"},
      {.name = "txt", .codec = "txt"},
      {.name = "box", .codec = "raw", .dtype = DType::f32, .shape = {4}, .fixed = true},
  };
  return list;
}

std::vector<Bytes> values(std::uint32_t number) {
  return {test::jpeg(test::picture(8, 8, 1, number), 30), test::to_bytes(std::to_string(number % 2)),
          test::npy("<i2", {3}, test::to_bytes(std::vector<std::int16_t>{1, 2, 3})), test::to_bytes("a text"),
          test::to_bytes(std::vector<float>{0, 1, 2, static_cast<float>(number)})};
}

Index write(const Format& format, const fs::path& shard, std::uint64_t align) {
  const std::unique_ptr<ShardWriter> writer = format.write(shard, {.fields = fields(), .align = align});
  for (std::uint32_t number = 0; number < 3; ++number) {
    const std::vector<Bytes> bytes = values(number);
    std::vector<FieldValue> list;
    for (std::uint32_t field = 0; field < bytes.size(); ++field) {
      const bool left_out = number == 1 && field == 3;  // a sample without text
      const auto header = field == 2 ? std::span(bytes[field]).first(10) : std::span<const std::byte>();
      if (!left_out) list.push_back({field, bytes[field], crc32c(bytes[field]), header});
    }
    writer->add("class " + std::to_string(number % 2) + "/" + std::to_string(number), list);
  }
  return writer->finish();
}

void add_packing(const Seeds& seeds, const Format& format, std::uint64_t align) {
  const std::string number = std::to_string(align), name = "shard-000000" + std::string(format.extension);
  const fs::path shard = seeds.scratch(name);
  const Index index = write(format, shard, align);
  const auto bytes = index.bytes();
  seeds.add("idx", std::string(format.name) + number, text_of(bytes));
  seeds.add("kept_index", std::string(format.name) + number, text_of(bytes));
  const std::vector<std::uint64_t> lengths(2, bytes.size());
  const std::string gap(gap_to_eight(bytes.size()), '\0'), twice = text_of(bytes) + gap + text_of(bytes);
  seeds.add("combined_index", std::string(format.name) + number, text_of(combined_index_header(lengths, 1)) + twice);
  const fs::path file = shard.parent_path() / index.file(0).path;
  if (format.complete == nullptr) {
    seeds.add_file(format.name, "packed" + number, file);
    return;
  }
  const std::vector<std::string> names{name};  // MDS: its index.json goes before the shard
  format.complete(shard.parent_path(), names);
  const std::string json = read_file(shard.parent_path() / "index.json");
  seeds.add(format.name, "packed" + number, json + '\0' + read_file(file));
}

}  // namespace

void add_packed(const Seeds& seeds) {
  for (const Format& format : formats()) {
    for (const std::uint64_t align : {1, 512}) {
      if (format.write != nullptr) add_packing(seeds, format, align);
    }
  }
  const Manifest manifest{
      .format = "tar",
      .samples = 3,
      .fields = fields(),
      .classes = {"cat", "dog"},
      .shards = {{.name = "shard-000000.tar", .samples = 3, .bytes = 5120, .crc32c = 1, .index = 2}},
      .made_with = R"({"format":"tar","shard_size":268435456})"};
  seeds.add("manifest", "some", manifest.to_json());
  seeds.add("manifest", "none", Manifest{.format = "zip", .fields = {}, .classes = {}, .shards = {}}.to_json());
}

}  // namespace penstock::fuzz
