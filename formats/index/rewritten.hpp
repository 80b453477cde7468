// Copies an index and replaces the values of some fields, for example to give all shards of a dataset the same type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>

namespace penstock {

/// A field whose values differ in the copy.
struct FieldRewrite {
  /// Replaces the pieces of a value by the pieces of the copy. These may refer to files of the index, and to blocks
  /// that the index has or the function adds to `copy`. Inline bytes must stay valid until the next call. `crc32c` is
  /// the checksum of the stored value, if the index has one.
  using Value =
      std::function<void(IndexBuilder& copy, std::vector<Piece>& pieces, std::optional<std::uint32_t> crc32c)>;

  std::uint32_t field;  ///< number in the index
  FieldSchema schema;   ///< of the copy; its name must differ from the names of the other fields
  Value value;
};

/// Files, samples, attributes, and the numbers of fields and blocks stay the same. Keys get the prefix `before_keys`. A
/// rewritten field loses its checksums, range checksums and headers. `index` must not have made samples (Index::made).
/// Throws Error: corrupt; any Error of a FieldRewrite, with key and field added.
Index rewritten(const Index& index, std::span<const FieldRewrite> rewrites, std::string_view before_keys = {});

/// For values that are stored in the index: `convert` receives the bytes of a value and returns the new bytes.
/// The returned function throws Error: unsupported, for a value that is stored in a file.
FieldRewrite::Value inline_values(std::function<std::vector<std::byte>(std::span<const std::byte> bytes)> convert);

}  // namespace penstock
