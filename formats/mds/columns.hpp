// Decodes the columns of an MDS shard by their encodings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <formats/index/index.hpp>
#include <penstock/schema.hpp>

namespace penstock {

struct MdsColumn {
  enum class Kind : std::uint8_t {
    plain,          ///< the bytes are the value
    array,          ///< ndarray of any dtype and shape: both precede the elements
    typed_array,    ///< ndarray of one dtype: its shape precedes the elements
    untyped_array,  ///< ndarray of one shape: its dtype precedes the elements
  };
  FieldSchema schema;  ///< of the field; its name is the column's
  Kind kind = Kind::plain;
  std::optional<std::uint64_t> size = {};  ///< of every value; empty: each sample begins with the size
};

/// `size` comes from the shard's description (empty if null there). Unknown encodings, and encodings of programs or
/// Python objects (pkl), are plain bytes without a codec. Throws Error: corrupt, if the size does not match the
/// encoding, or the dtype or shape is invalid. Source: mosaicml-streaming 0.13, streaming/base/format/mds/encodings.py.
MdsColumn mds_column(std::string name, std::string_view encoding, std::optional<std::uint64_t> size);

/// Returns the encoding for a codec's values. Empty if MDS has none.
std::string_view mds_encoding_of(std::string_view codec);

/// The bytes before the elements of an ndarray, and the .npy header that replaces them.
struct MdsArray {
  std::uint64_t skip;
  std::string npy_header;
};
inline constexpr std::size_t kLongestMdsArrayHeader = 2 + 63 * 8;
/// `first` holds the value, or its first kLongestMdsArrayHeader bytes. `length` is the length of the value. Throws
/// Error: corrupt.
MdsArray read_mds_array(const MdsColumn& column, std::span<const std::byte> first, std::uint64_t length);

}  // namespace penstock
