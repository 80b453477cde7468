// Parses LMDB values that are records of several fields: Caffe's Datum, and msgpack maps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <formats/lmdb/listing.hpp>
#include <formats/places/header_window.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// One field of a record.
struct RecordField {
  /// Bytes of the file. Their first bytes reveal the encoding.
  struct Encoded {
    std::uint64_t offset, length;
  };
  /// Plain little-endian elements in the file.
  struct Elements {
    DType dtype;
    Shape shape;
    std::uint64_t offset, length;
  };
  /// Text that is stored in the index: numbers.
  struct Text {
    std::string codec, text;
  };
  std::string name;
  std::variant<Encoded, Elements, Text> value;
};

/// Reads the fields of the values of one LMDB file in place, without their payloads.
///
/// Datum   `data` uint8 (channels, height, width), or as encoded, and `cls`. Caffe's pixels are BGR.
///         Source: BVLC Caffe 1.0, src/caffe/proto/caffe.proto, message Datum.
/// msgpack a map of names to byte strings and text (each a field), numbers, and typed arrays: maps of `type` or
///         `dtype`, `shape` and `data`, as msgpack-numpy and deepmd-kit write them. Other members are left out.
///         Source: msgpack specification, github.com/msgpack/msgpack/blob/master/spec.md (2017).
class LmdbRecords {
 public:
  enum class Kind { none, datum, msgpack };

  /// Throws Error: io.
  explicit LmdbRecords(const std::filesystem::path& file) : file_(file, file.string()) {}
  /// Returns the kind of the first values, if each of them parses completely as that kind.
  Kind recognise(std::span<const LmdbListing::Value> values);
  /// Replaces `fields` by those of a value. Throws Error: corrupt, with the cause; unsupported (a Datum of floats).
  /// Returns the number of members that were left out.
  std::uint64_t read(Kind kind, const LmdbListing::Value& value, std::vector<RecordField>& fields);

 private:
  HeaderWindow file_;
};

}  // namespace penstock
