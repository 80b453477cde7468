// Holds the columns of an index under construction until it is serialized. Private to formats/index/builder.cpp and
// formats/index/serialize.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/layout.hpp>

namespace penstock {

struct BuiltHeaders {
  std::vector<std::uint64_t> ends;  // one per sample so far; the end of sample i's bytes
  std::vector<std::byte> bytes;
};

struct BuiltColumn {
  FieldSchema schema;
  std::vector<index_layout::Entry> entries;  // may end before the current sample: the rest is absent
  std::uint64_t present = 0;
  BuiltHeaders headers;
  BuiltHeaders range_sums;
};

struct IndexBuilder::State {
  std::vector<std::uint64_t> key_offsets{0};
  std::string key_bytes;
  bool sorted = true;
  std::uint64_t key_hash = 0;
  std::vector<BuiltColumn> columns;
  std::unordered_map<std::string, std::uint32_t> column_named;
  std::vector<index_layout::PieceRecord> pieces;
  std::vector<std::byte> inline_bytes;
  std::uint64_t pattern_offset = 0, pattern_length = 0;  // of the most recently stored fill pattern
  std::uint64_t values = 0, filled = 0;                  // values set, and the same plus absent entries between them
  std::vector<index_layout::BlockRecord> blocks;
  std::map<std::vector<std::pair<std::uint16_t, std::uint32_t>>, std::uint32_t> pipeline_of;
  std::vector<std::uint32_t> pipelines{0};
  std::vector<index_layout::FilterRecord> filters;
  std::vector<index_layout::FileRecord> files;
  std::string file_paths;
  std::string attributes;

  std::uint64_t samples() const { return key_offsets.size() - 1; }

  std::string_view last_key() const {
    return samples() == 0 ? std::string_view() : std::string_view(key_bytes).substr(key_offsets[samples() - 1]);
  }

  std::uint64_t keep(std::span<const std::byte> bytes) {
    const std::uint64_t offset = inline_bytes.size();
    inline_bytes.insert(inline_bytes.end(), bytes.begin(), bytes.end());
    return offset;
  }

  void put(std::uint32_t field, index_layout::Entry entry, std::uint64_t length, std::optional<std::uint32_t> crc);
  index_layout::PieceRecord record(const Piece& piece);
  std::uint64_t keep_pattern(std::span<const std::byte> pattern);
  std::string_view key(std::uint64_t sample) const {
    return std::string_view(key_bytes).substr(key_offsets[sample], key_offsets[sample + 1] - key_offsets[sample]);
  }

  void put_behind(BuiltHeaders& column, std::span<const std::byte> bytes) const;
  void add_key(std::string_view key);
  void reorder(std::span<const std::uint64_t> order);
  std::uint64_t stored_bytes() const;
  void refuse_sparse(std::uint64_t wanted) const;
  std::uint32_t version() const;
  std::vector<std::byte> field_section() const;
  std::vector<std::byte> serialize();
};

}  // namespace penstock
