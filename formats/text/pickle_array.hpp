// The arrays of pickles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The kinds of values of a pickle.
enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,   ///< str, in UTF-8 that may be invalid
  bytes,  ///< bytes, bytearray, and str of Python 2
  list,   ///< also tuple, set and one-dimensional arrays of objects
  dict,
  array,
  other,  ///< a dtype or a name
};

/// A NumPy array of a pickle. `kind` and `item_bytes` are those of NumPy's typestr ("f8": 'f', 8).
struct PickleArray {
  char kind = 0;  ///< 'b', 'i', 'u', 'f': numbers; 'S': bytes; 'U': UTF-32
  std::uint64_t item_bytes = 0;
  bool big_endian = false;
  bool fortran = false;                   ///< the first index varies fastest
  std::vector<std::uint64_t> shape = {};  ///< the product times item_bytes is the size of `bytes`
  std::span<const std::byte> bytes = {};  ///< part of the file, except in protocols 0 to 2 of Python 3
};

/// One element of an array: a boolean, integer or real, or a text without NumPy's padding.
struct PickleElement {
  PickleKind kind;
  std::int64_t integer = 0;
  double real = 0;
  std::string text = {};  ///< UTF-8 of 'U'
};

/// Returns the element at `position` in C order, which must be below the product of the shape. Throws Error:
/// unsupported, for a number that int64 cannot hold.
PickleElement element_at(const PickleArray& array, std::uint64_t position);

struct PickleDtype {
  char kind;  ///< as in PickleArray, or 'O' for objects
  std::uint64_t item_bytes;
  bool big_endian;
};

/// Parses a code such as "u1", "<f4" or "U12". Throws Error: unsupported, for other dtypes than PickleArray has.
PickleDtype pickle_dtype(std::string_view code);

/// Throws Error: corrupt, unless `bytes` has the size of the shape; unsupported, for objects.
PickleArray pickle_array(const PickleDtype& dtype, std::vector<std::uint64_t> shape, bool fortran,
                         std::string_view bytes);

}  // namespace penstock
