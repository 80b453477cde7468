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

/// Whether elements are strings, of fixed or of variable length.
bool is_text(const Hdf5Type& type);

/// A reference to bytes in a global heap: how many elements, and where.
struct Hdf5Reference {
  std::uint32_t elements;
  std::uint64_t address;  ///< of the collection
  std::uint32_t object;
};
Hdf5Reference read_reference(const Hdf5File& file, std::span<const std::byte> element);

/// Where `elements` of `element_bytes` each lie; of length 0 when there are none.
/// Throws Error: corrupt, when the heap's object is too short; io.
Hdf5Collections::Location locate(const Hdf5Reference& reference, std::uint64_t element_bytes, Hdf5Collections& heap);

/// Bytes of a fixed-length string that are not padding.
std::size_t text_length(const Hdf5Type& type, std::span<const std::byte> element);

/// To be called before all of a dataset's texts are read: what was never written, or is one run of padding, takes as
/// long as any other text. Throws Error: corrupt, when it is far more than the file can hold.
void spend_for_texts(const Hdf5File& file, const Hdf5Rows& rows);

/// All elements of a dataset of one dimension, or the scalar. Throws Error: unsupported, unless it holds strings.
std::vector<std::string> read_texts(const Hdf5File& file, const Hdf5Rows& rows, Hdf5Collections& heap);

/// Of each row of strings in several dimensions, what it is in JSON: "text", ["text", ...], [["text", ...], ...]. What
/// is no UTF-8 becomes U+FFFD. Throws as read_texts.
std::vector<std::string> json_texts(const Hdf5File& file, const Hdf5Rows& rows, Hdf5Collections& heap);
/// ["text", ...] of such.
std::string json_list(std::span<const std::string> values);

/// The strings of an attribute; nothing when it holds something else. Throws Error: corrupt; io.
std::optional<std::vector<std::string>> texts_of(const Hdf5File& file, const Hdf5Attribute& attribute,
                                                 Hdf5Collections& heap);
/// The one string of the attribute of that name.
std::optional<std::string> text_attribute(const Hdf5File& file, const Hdf5Object& object, std::string_view name,
                                          Hdf5Collections& heap);

}  // namespace penstock
