// Decodes clouds from tables of columns. PLY, PCD, OFF and text share this part after their headers are read.
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

/// One number per point. Point i has its number at `begin` + i * `stride`.
struct TableColumn {
  DType dtype = DType::f32;
  std::uint64_t begin = 0, stride = 0;
};

/// The places of a cloud's numbers, either in the value itself or in the decoder's memory. Columns of text and of
/// compressed bytes are written to that memory.
struct CloudTable {
  std::uint64_t points = 0;
  std::array<TableColumn, 3> xyz;
  std::vector<PointAttribute> attributes;
  std::vector<TableColumn> columns;  ///< columns of the attributes; stride 0: not requested, so not present
  bool swapped = false;              ///< big-endian
  bool own = false;                  ///< columns are in `memory`; otherwise in the value
  std::vector<std::byte> memory;     ///< keeps its capacity from value to value

  void clear();
  void add(std::string name, TableColumn column);
  /// Places all columns consecutively in `memory`. Columns x, y, z become float64. An attribute that `wanted` does not
  /// name gets no column.
  void lay_out_columns(std::uint64_t count, std::span<const std::string> wanted);
};

/// Records of equal length in a value, for select_points().
struct RecordLayout {
  std::uint64_t begin = 0;   ///< offset of the first record, which is the length of the header
  std::uint64_t stride = 0;  ///< length of a record
};

/// Throws Error: corrupt, unless `points` records end within `length` bytes.
void check_records(const char* codec, const RecordLayout& records, std::uint64_t points, std::uint64_t length);

/// Appends the range of the header and the first record, which determines the origin, and the ranges of `numbers`.
/// Neighbouring records become one range.
void select_records(const RecordLayout& records, std::span<const std::uint32_t> numbers,
                    std::vector<ByteRange>& ranges);

/// Implements Codec::header(). Returns the bytes up to the end of the first record. Returns none if `bytes` end before
/// it, or if `place` throws an Error or returns nothing; the value is then read as a whole.
std::vector<std::byte> record_header(std::span<const std::byte> bytes,
                                     const std::function<std::optional<RecordLayout>()>& place);

/// Returns the header from the bytes that record_header() returned. Throws Error: corrupt, unsupported.
CloudHeader header_of_records(const CloudCodec& codec, const FieldHeader& field);

/// Returns the origin of the coordinates. `exact` means that the stored coordinates have more digits than float32. If
/// so, and a coordinate of the first point is beyond 65536, the origin is that point rounded down to integers.
/// Otherwise it is zero.
std::array<double, 3> origin_near(const std::array<double, 3>& first, bool exact);

/// A decoder of values that read() can convert to a table.
class TableDecoder : public CloudDecoder {
 public:
  const CloudHeader& open(const FieldBytes& field) final;
  void coordinates(const FieldBytes& field, const PointChoice& choice, float* out) final;
  void attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) final;

 protected:
  /// Fills the table. If `field.ranges` is not empty, fills it as if all records were present.
  virtual void read(const FieldBytes& field, CloudTable& table) = 0;
  /// The place of all records in the whole value. Called if only chosen records were read.
  virtual RecordLayout records() const { return {}; }
  /// Returns whether coordinates are text, which may have more digits than their type holds.
  virtual bool text() const { return false; }

 private:
  CloudTable table_;
  CloudHeader header_;
};

}  // namespace penstock
