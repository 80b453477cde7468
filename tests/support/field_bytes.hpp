// Reads fields through an Index alone, by its pieces: what a read engine does, in its plainest form.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <formats/extent.hpp>
#include <formats/filters/filters.hpp>
#include <formats/index/index.hpp>

namespace penstock::test {

inline std::vector<std::byte> extent_bytes(const Index& index, const std::filesystem::path& root,
                                           const Extent& extent) {
  const std::filesystem::path path = root / index.file(extent.file).path;
  if (extent.offset + extent.length > std::filesystem::file_size(path))
    throw std::out_of_range("extent outside " + path.string());
  std::vector<std::byte> bytes(extent.length);
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(extent.offset));
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw std::runtime_error("short read of " + path.string());
  return bytes;
}

/// The field's bytes; nothing when the sample lacks it.
inline std::optional<std::string> field_bytes(const Index& index, const std::filesystem::path& root,
                                              std::uint64_t sample, std::uint32_t field) {
  std::vector<Piece> pieces;
  if (!index.locate(sample, field, pieces)) return std::nullopt;
  std::string value;
  for (const Piece& piece : pieces) {
    std::vector<std::byte> bytes(piece.inline_bytes.begin(), piece.inline_bytes.end());
    if (piece.kind == Piece::Kind::extent) bytes = extent_bytes(index, root, piece.extent);
    if (piece.kind == Piece::Kind::block) {
      const Block block = index.block(piece.block);
      std::vector<std::byte> decoded(block.decoded_length);
      std::vector<std::byte> scratch;
      undo_filters(block, extent_bytes(index, root, block.extent), decoded, scratch);
      const auto first = decoded.begin() + static_cast<std::ptrdiff_t>(piece.offset);
      bytes.assign(first, first + static_cast<std::ptrdiff_t>(piece.length));
    }
    if (piece.kind == Piece::Kind::fill) {
      const std::vector<std::byte> pattern = std::move(bytes);
      bytes.resize(piece.length);
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern.at(i % pattern.size());
    }
    value.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return value;
}

/// Every field of every sample: key -> field name -> bytes.
inline std::map<std::string, std::map<std::string, std::string>> all_fields(const Index& index,
                                                                            const std::filesystem::path& root) {
  std::map<std::string, std::map<std::string, std::string>> samples;
  for (std::uint64_t sample = 0; sample < index.size(); ++sample) {
    auto& fields = samples[std::string(index.key(sample))];
    for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
      if (auto bytes = field_bytes(index, root, sample, field)) fields[index.fields()[field].name] = std::move(*bytes);
    }
  }
  return samples;
}

}  // namespace penstock::test
