// Copies an index with other values of some fields: those of a shard that have to fit the other shards of its dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <penstock/formats/index.hpp>

namespace penstock {

/// A field that the copy has in another way.
struct FieldRewrite {
  /// Replaces the pieces of a value by those of the copy. They may name the index's files, its blocks, and blocks that
  /// the function adds to `copy`; inline bytes are valid until the function is called again. `crc32c`: of the value's
  /// bytes, where the index has it.
  using Value =
      std::function<void(IndexBuilder& copy, std::vector<Piece>& pieces, std::optional<std::uint32_t> crc32c)>;

  std::uint32_t field;  ///< its number in the index
  FieldSchema schema;   ///< that the copy has for it; the name may be another one, but that of no other field
  Value value;
};

/// A copy with the same files, samples, keys, attributes and numbers of fields and blocks. Rewritten fields lose what
/// is recorded of their bytes: checksums, those of ranges, headers. Not of made samples.
/// Throws Error: corrupt; what a FieldRewrite throws, with key and field.
Index rewritten(const Index& index, std::span<const FieldRewrite> rewrites);

/// For values that stand in the index: `convert` makes the copy's bytes of a value's.
/// The function throws Error: unsupported, for a value that lies in a file.
FieldRewrite::Value inline_values(std::function<std::vector<std::byte>(std::span<const std::byte> bytes)> convert);

}  // namespace penstock
