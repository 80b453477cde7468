// Reads strings of HDF5 files, of fixed length or in a global heap, from datasets and attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/hdf5/heap.hpp>
#include <formats/hdf5/object.hpp>
#include <formats/hdf5/rows.hpp>

namespace penstock {

/// Returns whether elements are strings, of fixed or of variable length.
bool is_text(const Hdf5Type& type);

/// A reference to bytes in a global heap: number of elements, and location.
struct Hdf5Reference {
  std::uint32_t elements;
  std::uint64_t address;  ///< of the collection
  std::uint32_t object;
};
Hdf5Reference read_reference(const Hdf5File& file, std::span<const std::byte> element);

/// Returns the location of the reference's elements, of `element_bytes` each. The length is 0 if there are none. Throws
/// Error: corrupt, if the heap's object is too short; io.
Hdf5Collections::Location locate(const Hdf5Reference& reference, std::uint64_t element_bytes, Hdf5Collections& heap);

/// Returns the number of bytes of a fixed-length string without padding.
std::size_t text_length(const Hdf5Type& type, std::span<const std::byte> element);

/// Call before reading all texts of a dataset: unwritten rows and runs of padding take as long as other texts. Throws
/// Error: corrupt, if the texts are far more than the file can hold.
void spend_for_texts(const Hdf5File& file, const Hdf5Rows& rows);

/// Reads all elements of a dataset of one dimension, or the scalar. Throws Error: unsupported, unless it holds strings.
std::vector<std::string> read_texts(const Hdf5File& file, const Hdf5Rows& rows, Hdf5Collections& heap);

/// Converts each row of strings in several dimensions to JSON: "text", ["text", ...], [["text", ...], ...]. Throws the
/// errors of read_texts; unsupported, if a string is not UTF-8 (not_utf8).
std::vector<std::string> json_texts(const Hdf5File& file, const Hdf5Rows& rows, Hdf5Collections& heap);

/// Returns the strings of an attribute. Returns nothing if it holds something else. Throws Error: corrupt; io.
std::optional<std::vector<std::string>> texts_of(const Hdf5File& file, const Hdf5Attribute& attribute,
                                                 Hdf5Collections& heap);
/// Returns the value of the attribute with that name, if it is one string.
std::optional<std::string> text_attribute(const Hdf5File& file, const Hdf5Object& object, std::string_view name,
                                          Hdf5Collections& heap);

}  // namespace penstock
