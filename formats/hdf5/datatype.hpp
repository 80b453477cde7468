// Describes the element type of a dataset or an attribute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <formats/hdf5/file.hpp>
#include <penstock/schema.hpp>

namespace penstock {

struct Hdf5Type {
  enum class Kind : std::uint8_t {
    number,      ///< `dtype`; enumerations are read as integers, bool as h5py writes it
    opaque,      ///< `size` bytes without interpretation
    fixed_text,  ///< `size` bytes, terminated or padded according to `padding`
    text,        ///< a reference to bytes in a global heap
    sequence,    ///< a reference to elements of `dtype` in a global heap
    other,       ///< `reason`
  };
  enum class Padding : std::uint8_t { terminated, zeros, spaces };

  Kind kind = Kind::other;
  std::uint64_t size = 0;                ///< bytes of one element, including all of `dims`
  DType dtype = DType::u8;               ///< of numbers and of the elements of a sequence
  bool swapped = false;                  ///< true: these are big-endian
  std::vector<std::uint64_t> dims = {};  ///< dimensions of an element that is an array
  Padding padding = Padding::terminated;
  std::string reason = {};  ///< why elements of this type are not readable

  std::uint64_t unit() const { return kind == Kind::number ? size_of(dtype) : size; }
};

/// Reads the body of a datatype message. Unreadable types have kind other. Throws Error: corrupt. Source: section
/// IV.A.2.d.
Hdf5Type read_type(const Hdf5File& file, std::span<const std::byte> message);

}  // namespace penstock
