#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <formats/element_types.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/table.hpp>

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "big-endian values are those that are swapped");

template <typename T>
T load(const std::byte* at, bool swapped) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), at, sizeof(T));
  if (swapped) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

double number_at(const std::byte* at, DType dtype, bool swapped) {
  return with_element(dtype, [at, swapped](auto element) -> double {
    if constexpr (std::is_arithmetic_v<decltype(element)>) {
      return static_cast<double>(load<decltype(element)>(at, swapped));
    } else {
      throw Error::invalid_argument("points have no coordinates of this type");
    }
  });
}

/// Iterates over the records of a choice.
class Rows {
 public:
  Rows(const FieldBytes& field, const PointChoice& choice, const CloudTable& table, const RecordLayout& records)
      : choice_(choice) {
    base_ = table.own ? table.memory.data() : field.bytes.data();
    if (table.own || field.ranges.empty()) return;
    // field.bytes contains the header and the first record, even if that record was not chosen, then the chosen ones.
    packed_ = true;
    skipped_ = choice.all || choice.numbers.empty() || choice.numbers[0] == 0 ? 0 : 1;
    // `packed_` means that the chosen records are contiguous; `skipped_` counts the unchosen first one.
    const std::uint64_t needed = records.begin + (choice.count(table.points) + skipped_) * records.stride;
    if (field.bytes.size() < needed) throw Error::corrupt("points that were selected are missing");
  }

  /// Calls each(output position, address in the column).
  template <typename Each>
  void walk(const TableColumn& column, std::uint64_t points, const Each& each) const {
    const std::uint64_t count = choice_.count(points);
    if (count == 0) return;  // an empty cloud may have no memory
    const std::byte* first = base_ + column.begin;
    if (choice_.all || packed_) {
      first += skipped_ * column.stride;
      for (std::uint64_t i = 0; i < count; ++i) each(i, first + i * column.stride);
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      if (choice_.numbers[i] >= points) throw Error::invalid_argument("a chosen point is not in the cloud");
      each(i, first + choice_.numbers[i] * column.stride);
    }
  }

 private:
  const PointChoice& choice_;
  const std::byte* base_;
  bool packed_ = false;
  std::uint64_t skipped_ = 0;
};

}  // namespace

void CloudTable::clear() {
  points = 0;
  attributes.clear();
  columns.clear();
  xyz = {};
  swapped = own = false;
}

void CloudTable::add(std::string name, TableColumn column) {
  attributes.push_back({std::move(name), column.dtype});
  columns.push_back(column);
}

void CloudTable::lay_out_columns(std::uint64_t count, std::span<const std::string> wanted) {
  points = count;
  own = true;
  swapped = false;
  std::uint64_t end = 0;
  const auto place = [&](TableColumn& column) {
    column.stride = size_of(column.dtype);
    column.begin = end;
    end += (count * column.stride + 7) / 8 * 8;
  };
  for (TableColumn& column : xyz) {
    column.dtype = DType::f64;
    place(column);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].stride = 0;
    if (std::find(wanted.begin(), wanted.end(), attributes[i].name) != wanted.end()) place(columns[i]);
  }
  memory.resize(end);
}

void check_records(const char* codec, const RecordLayout& records, std::uint64_t points, std::uint64_t length) {
  if (points > 0xFFFFFFFF) throw Error::unsupported(std::string(codec) + ": more than 4,294,967,295 points");
  if (records.begin > length || (records.stride != 0 && points > (length - records.begin) / records.stride)) {
    throw Error::corrupt(std::string(codec) + ": " + std::to_string(points) + " points of " +
                         std::to_string(records.stride) + " bytes do not fit " + std::to_string(length) + " bytes");
  }
}

void select_records(const RecordLayout& records, std::span<const std::uint32_t> numbers,
                    std::vector<ByteRange>& ranges) {
  const std::size_t own = ranges.size();
  ranges.push_back({0, records.begin + records.stride});
  for (const std::uint32_t number : numbers) {
    if (number == 0) continue;
    const std::uint64_t begin = records.begin + number * records.stride;
    if (ranges.back().end == begin && ranges.size() > own)
      ranges.back().end += records.stride;
    else
      ranges.push_back({begin, begin + records.stride});
  }
}

std::vector<std::byte> record_header(std::span<const std::byte> bytes,
                                     const std::function<std::optional<RecordLayout>()>& place) {
  try {
    const std::optional<RecordLayout> found = place();
    if (!found || found->begin > bytes.size() || found->stride > bytes.size() - found->begin) return {};
    const auto kept = bytes.first(found->begin + found->stride);
    return {kept.begin(), kept.end()};
  } catch (const Error&) {
    // The header is broken or longer than these bytes. Decoding the value reports the error.
    return {};
  }
}

CloudHeader header_of_records(const CloudCodec& codec, const FieldHeader& field) {
  const ByteRange kept{0, field.header.size()};
  const FieldBytes bytes{.schema = field.schema, .bytes = field.header, .ranges = std::span(&kept, 1)};
  return codec.cloud_decoder({})->open(bytes);
}

std::array<double, 3> origin_near(const std::array<double, 3>& first, bool exact) {
  constexpr double kFar = 65536;
  const bool finite = std::isfinite(first[0]) && std::isfinite(first[1]) && std::isfinite(first[2]);
  const double most = std::max({std::abs(first[0]), std::abs(first[1]), std::abs(first[2])});
  if (!exact || !finite || most <= kFar) return {};
  return {std::floor(first[0]), std::floor(first[1]), std::floor(first[2])};
}

const CloudHeader& TableDecoder::open(const FieldBytes& field) {
  table_.clear();
  read(field, table_);
  header_.points = table_.points;
  header_.attributes = table_.attributes;
  header_.origin = {};
  if (table_.points == 0) return header_;
  if (!field.ranges.empty() && !table_.own && field.bytes.size() < records().begin + records().stride) {
    throw Error::corrupt("the header of the points that were selected is missing");
  }
  std::array<double, 3> first{};
  bool exact = text();
  const std::byte* base = table_.own ? table_.memory.data() : field.bytes.data();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const TableColumn& column = table_.xyz[axis];
    first[axis] = number_at(base + column.begin, column.dtype, table_.swapped);
    exact = exact || size_of(column.dtype) > 4 || column.dtype == DType::i32 || column.dtype == DType::u32;
  }
  header_.origin = origin_near(first, exact);
  return header_;
}

void TableDecoder::coordinates(const FieldBytes& field, const PointChoice& choice, float* out) {
  if (choice.count(table_.points) == 0) return;  // `out` may be null then
  const Rows rows(field, choice, table_, records());
  const bool swapped = table_.swapped;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const TableColumn& column = table_.xyz[axis];
    const double origin = header_.origin[axis];
    float* to = out + axis;
    if (column.dtype == DType::f32) {
      // No conversion to double, so that a signalling NaN keeps its bits.
      const auto write = [&](std::uint64_t i, const std::byte* at) { to[3 * i] = load<float>(at, swapped); };
      rows.walk(column, table_.points, write);
    } else {
      const auto write = [&](std::uint64_t i, const std::byte* at) {
        to[3 * i] = static_cast<float>(number_at(at, column.dtype, swapped) - origin);
      };
      rows.walk(column, table_.points, write);
    }
  }
}

void TableDecoder::attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) {
  const TableColumn& column = table_.columns.at(number);
  if (column.stride == 0 && table_.points > 0) {
    throw Error::invalid_argument("the attribute '" + table_.attributes[number].name +
                                  "' was not requested in advance");
  }
  const std::size_t size = size_of(column.dtype);
  const bool swapped = table_.swapped && size > 1;
  Rows(field, choice, table_, records()).walk(column, table_.points, [&](std::uint64_t i, const std::byte* at) {
    std::memcpy(out + i * size, at, size);
    if (swapped) std::reverse(out + i * size, out + (i + 1) * size);
  });
}

}  // namespace penstock
