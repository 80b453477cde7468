// A dataset of rows in objects of a store that nobody has to have: what is in a byte follows from where it is.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/hash.hpp>
#include <formats/places/object_store.hpp>
#include <penstock/dataset.hpp>

namespace penstock::test {

struct StoredRows {
  std::vector<Dataset::Shard> shards = {};
  std::vector<std::uint64_t> sizes = {};
  std::vector<Extent> rows = {};

  /// `objects` of `each` rows of about `mean` bytes, one behind the other.
  StoredRows(std::uint32_t objects, std::uint64_t each, std::uint64_t mean, const std::string& version = "v1") {
    std::mt19937_64 random(objects * 1000 + each);
    for (std::uint32_t o = 0; o < objects; ++o) {
      const std::string name = "shard-" + std::to_string(o);
      IndexBuilder builder;
      const auto file = builder.add_file({.path = name, .size = each * 2 * mean, .stamp = 0});
      const auto field = builder.field(FieldSchema{.name = "x", .codec = "raw"});
      std::uint64_t at = 512;
      for (std::uint64_t i = 0; i < each; ++i) {
        const std::uint64_t length = mean / 2 + random() % mean;
        builder.add_sample(std::to_string(o * each + i));
        builder.set(field, Extent{file, at, length});
        rows.push_back({o, at, length});
        at += length + 512;
      }
      builder.set_file_size(file, at);
      sizes.push_back(at);
      Dataset::Shard shard{.index = std::move(builder).finish(), .root = "s3://bucket", .name = name};
      shard.objects = {std::make_shared<const StoredObject>(
          StoredObject{"s3://bucket/" + name, {.size = at, .version = version, .modified = 1}})};
      shards.push_back(std::move(shard));
    }
  }
  Dataset dataset() const { return Dataset("s3://bucket", "test", shards, {}, false); }

  static std::byte byte_at(std::uint32_t file, std::uint64_t offset) {
    return static_cast<std::byte>(mix64(offset / 8 + std::uint64_t{file} * 0x123456789) >> (offset % 8 * 8));
  }
  static void fill(std::uint32_t file, std::uint64_t offset, std::span<std::byte> bytes) {
    for (std::byte& byte : bytes) byte = byte_at(file, offset++);
  }
  static bool right(std::uint32_t file, std::uint64_t offset, std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
      if (byte != byte_at(file, offset++)) return false;
    return true;
  }
};

}  // namespace penstock::test
