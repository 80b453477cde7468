// Decodes clouds from tables: the part that PLY, PCD, OFF and text share once their headers are read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/points.hpp>
#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// One number of each point: of point i at `begin` + i * `stride`.
struct TableColumn {
  DType dtype = DType::f32;
  std::uint64_t begin = 0, stride = 0;
};

/// Where the numbers of a cloud lie: in the value itself, or in memory of the decoder's own, where a column of text or
/// of compressed bytes was written out.
struct CloudTable {
  std::uint64_t points = 0;
  std::array<TableColumn, 3> xyz;
  std::vector<PointAttribute> attributes;
  std::vector<TableColumn> columns;  ///< of the attributes; stride 0: not asked for, so not there
  bool swapped = false;              ///< big-endian
  bool own = false;                  ///< in `memory`; else in the value
  std::vector<std::byte> memory;     ///< kept from value to value

  void clear();
  void add(std::string name, TableColumn column);
  /// Moves all columns into `memory`, one behind the other; a column of text becomes 8 bytes wide in x y z, and is left
  /// out where `wanted` does not name it.
  void lay_out_columns(std::uint64_t count, std::span<const std::string> wanted);
};

/// Records of equal length in the value: what select_points() needs to know.
struct RecordLayout {
  std::uint64_t begin = 0;   ///< of the first record: the length of the header
  std::uint64_t stride = 0;  ///< bytes of a record
};

/// Throws Error: corrupt, unless `points` of `records` on lie in a value of `length` bytes.
void check_records(const char* codec, const RecordLayout& records, std::uint64_t points, std::uint64_t length);

/// The header up to the end of the first record, which has to do with the origin; then the records of `numbers`, those
/// of neighbours as one range.
void select_records(const RecordLayout& records, std::span<const std::uint32_t> numbers,
                    std::vector<ByteRange>& ranges);

/// For Codec::header(): the bytes up to the end of the first record; none where `bytes` end before it, or `place`
/// throws an Error or returns nothing: the value is then read whole.
std::vector<std::byte> record_header(std::span<const std::byte> bytes,
                                     const std::function<std::optional<RecordLayout>()>& place);

/// What the bytes that record_header() kept tell. Throws Error: corrupt, unsupported.
CloudHeader header_of_records(const CloudCodec& codec, const FieldHeader& field);

/// The place coordinates are told from. Zero, unless one of the first point's is beyond 65536 and `exact`, which says
/// that they were told with more digits than float32 has: then that point, rounded down to whole units.
std::array<double, 3> origin_near(const std::array<double, 3>& first, bool exact);

/// Decodes what read() made a table of.
class TableDecoder : public CloudDecoder {
 public:
  const CloudHeader& open(const FieldBytes& field) final;
  void coordinates(const FieldBytes& field, const PointChoice& choice, float* out) final;
  void attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) final;

 protected:
  /// Fills the table; of records, where `field.ranges` is not empty, as if all were there.
  virtual void read(const FieldBytes& field, CloudTable& table) = 0;
  /// Where only chosen records were read: the place of all records in the whole value.
  virtual RecordLayout records() const { return {}; }
  /// True for values whose coordinates are text: they may have more digits than their type says.
  virtual bool text() const { return false; }

 private:
  CloudTable table_;
  CloudHeader header_;
};

}  // namespace penstock
