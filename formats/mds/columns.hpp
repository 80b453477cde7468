// Decodes the columns of an MDS shard according to each one's encoding.
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
    array,          ///< ndarray of any dtype and shape: both stand before the elements
    typed_array,    ///< ndarray of one dtype: its shape stands before the elements
    untyped_array,  ///< ndarray of one shape: its dtype stands before the elements
  };
  FieldSchema schema;  ///< of the field; name is the column's
  Kind kind = Kind::plain;
  std::optional<std::uint64_t> size = {};  ///< of every value; else it stands at the start of each sample
};

/// `size` is what the shard's description says (null there: nothing). Encodings that are not known, and those whose
/// values are programs or parts of Python objects (pkl), are plain bytes of an open codec.
/// Throws Error: corrupt, when the size is not that of the encoding, or dtype or shape are none.
/// Source: mosaicml-streaming 0.13, streaming/base/format/mds/encodings.py.
MdsColumn mds_column(std::string name, std::string_view encoding, std::optional<std::uint64_t> size);

/// The encoding of a codec's values; empty where MDS has none.
std::string_view mds_encoding_of(std::string_view codec);

/// What stands before the elements of an ndarray: bytes of it, and the header of the .npy value that takes its place.
struct MdsArray {
  std::uint64_t skip;
  std::string npy_header;
};
inline constexpr std::size_t kLongestMdsArrayHeader = 2 + 63 * 8;
/// `first` holds the value, or its first kLongestMdsArrayHeader bytes; `length` is the value's.
/// Throws Error: corrupt.
MdsArray read_mds_array(const MdsColumn& column, std::span<const std::byte> first, std::uint64_t length);

}  // namespace penstock
