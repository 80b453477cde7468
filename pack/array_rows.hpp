// Stores arrays as rows: in formats that have arrays (Format::array_dimensions), `.npy` values of one dtype and shape
// become plain elements, which other programs read as one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>
#include <penstock/schema.hpp>
#include <transforms/value_reader.hpp>

namespace penstock {

/// The values that decide whether a field becomes rows.
enum class RowEvidence : std::uint8_t {
  all,   ///< the headers of all values
  some,  ///< the headers of 1,000 values, and the lengths of all. Ranks use it, because each of them decides.
};

/// Returns the schema of the rows that the field's values become. All values must be complete `.npy` arrays of one
/// length, dtype and shape. The arrays must have elements, and at most `most_dimensions` dimensions. At least half of
/// the samples must have the field, because a sample without it takes as much space as a row. Otherwise the field keeps
/// its values, and the result is empty.
///
/// Reads headers on all cores, and none that the index records. Calls `tick` regularly; an exception from it passes
/// through. Throws Error: io.
std::optional<FieldSchema> schema_of_rows(const Dataset& source, std::uint32_t field, std::size_t most_dimensions,
                                          RowEvidence evidence, const std::function<void()>& tick);

/// Converts values between `.npy` and rows. For use by one thread at a time.
class ArrayConverter {
 public:
  /// Returns the value in the form of `to`: elements in C order for a fixed field of codec "raw", else a `.npy` value.
  /// The bytes are those of `made`. Throws Error: invalid_argument, if dtype or shape are not those of `to`; corrupt.
  std::span<const std::byte> convert(const FieldSchema& from, const FieldSchema& to, std::span<const std::byte> value,
                                     std::vector<std::byte>& made);

 private:
  ValueReader reader_;
  ReadValue read_;
};

bool is_npy(const FieldSchema& schema, std::span<const std::byte> value);  ///< by the codec, else by the first bytes

/// Names of the fields of a packed dataset whose rows were `.npy` values before packing, as penstock.json records them.
/// Other datasets have none. Throws Error: corrupt.
std::vector<std::string> arrays_of(const Dataset& dataset);
constexpr const char* kArraysMember = "arrays";  ///< of penstock.json's `made_with`

}  // namespace penstock
