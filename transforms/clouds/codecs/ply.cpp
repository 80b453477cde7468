#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <penstock/error.hpp>
#include <transforms/clouds/codecs/ply.hpp>
#include <transforms/clouds/codecs/ply_header.hpp>
#include <transforms/clouds/codecs/table.hpp>
#include <transforms/clouds/codecs/text_numbers.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kPrefix = 4096;  // holds nearly every header

int axis_of(const PlyProperty& property) {
  if (property.length || property.name.size() != 1) return -1;
  const std::size_t axis = std::string_view("xyzXYZ").find(property.name[0]);
  return axis == std::string_view::npos ? -1 : static_cast<int>(axis % 3);
}

/// Fills the table with the vertices' scalar properties, as records from `begin`. Lists are left out, because they give
/// records different lengths.
void tabulate(const PlyElement& vertex, std::uint64_t begin, CloudTable& table) {
  const std::uint64_t stride = vertex.least_bytes();
  std::array<bool, 3> found{};
  std::uint64_t offset = 0;
  for (const PlyProperty& property : vertex.properties) {
    const int axis = axis_of(property);
    const TableColumn column{property.dtype, begin + offset, stride};
    offset += size_of(property.length.value_or(property.dtype));
    if (property.length) continue;
    if (axis >= 0 && !found[static_cast<std::size_t>(axis)]) {
      table.xyz[static_cast<std::size_t>(axis)] = column;
      found[static_cast<std::size_t>(axis)] = true;
    } else {
      table.add(property.name, column);
    }
  }
  if (!found[0] || !found[1] || !found[2]) throw Error::unsupported("ply: vertices have no x, y and z");
  table.points = vertex.count;
}

/// Returns whether all vertices have the same length and follow the header directly.
bool has_records(const PlyHeader& header) {
  if (header.encoding == PlyHeader::Encoding::ascii || header.elements[header.vertex].has_lists()) return false;
  return std::all_of(header.elements.begin(), header.elements.begin() + static_cast<std::ptrdiff_t>(header.vertex),
                     [](const PlyElement& element) { return element.count == 0 || element.properties.empty(); });
}

RecordLayout records_of(const PlyHeader& header) {
  return {header.data_begin, header.elements[header.vertex].least_bytes()};
}

/// Iterates over binary elements.
class BinaryReader {
 public:
  BinaryReader(std::span<const std::byte> bytes, std::uint64_t begin, bool big)
      : bytes_(bytes), at_(begin), big_(big) {}

  std::uint64_t position() const { return at_; }

  const std::byte* take(std::uint64_t count) {
    if (count > bytes_.size() - at_) throw Error::corrupt("ply: ends inside an element");
    const std::byte* begin = bytes_.data() + at_;
    at_ += count;
    return begin;
  }

  void check(const PlyElement& element) const {
    const std::uint64_t least = element.least_bytes();
    if (least != 0 && element.count > (bytes_.size() - at_) / least) {
      throw Error::corrupt("ply: " + std::to_string(element.count) + " of element '" + element.name +
                           "' do not fit the file");
    }
  }

  void skip(const PlyElement& element) {
    check(element);
    if (!element.has_lists()) {
      take(element.count * element.least_bytes());
      return;
    }
    for (std::uint64_t i = 0; i < element.count; ++i)
      for (const PlyProperty& property : element.properties) skip(property);
  }

  void skip(const PlyProperty& property) {
    if (!property.length) {
      take(size_of(property.dtype));
      return;
    }
    const std::uint64_t items = length(*property.length);
    if (items > bytes_.size()) throw Error::corrupt("ply: a list is longer than the file");
    take(items * size_of(property.dtype));
  }

 private:
  std::uint64_t length(DType dtype) {
    const std::size_t size = size_of(dtype);
    std::array<std::byte, 8> bytes{};
    const std::byte* from = take(size);
    std::copy(from, from + size, bytes.begin());
    if (big_) std::reverse(bytes.begin(), bytes.begin() + size);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    const bool negative = (value >> (8 * size - 1) & 1) != 0;
    const bool with_sign = dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
    if (with_sign && negative) throw Error::corrupt("ply: a list has a negative length");
    return value;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t at_;
  bool big_;
};

/// The column to fill for each number of a vertex; null if the number is skipped.
using Targets = std::vector<TableColumn*>;

Targets targets_of(const PlyElement& vertex, CloudTable& table) {
  Targets targets;
  std::array<bool, 3> found{};
  std::size_t next = 0;
  for (const PlyProperty& property : vertex.properties) {
    const int axis = axis_of(property);
    TableColumn* column = nullptr;
    if (axis >= 0 && !found[static_cast<std::size_t>(axis)]) {
      column = &table.xyz[static_cast<std::size_t>(axis)];
      found[static_cast<std::size_t>(axis)] = true;
    } else if (!property.length) {
      column = &table.columns[next++];
    }
    targets.push_back(column != nullptr && column->stride != 0 ? column : nullptr);
  }
  return targets;
}

class PlyDecoder final : public TableDecoder {
 public:
  explicit PlyDecoder(const DecodeOptions& options) : wanted_(options.attributes) {}

 protected:
  void read(const FieldBytes& field, CloudTable& table) override {
    header_ = read_ply_header(field.bytes);
    const PlyElement& vertex = header_.elements[header_.vertex];
    tabulate(vertex, header_.data_begin, table);
    table.swapped = header_.encoding == PlyHeader::Encoding::big;
    if (has_records(header_)) {
      if (field.ranges.empty()) check_records("ply", records_of(header_), vertex.count, field.bytes.size());
      return;
    }
    if (vertex.count > std::numeric_limits<std::uint32_t>::max()) {
      throw Error::unsupported("ply: more than 4,294,967,295 points");
    }
    if (header_.encoding == PlyHeader::Encoding::ascii)
      read_text(field.bytes, vertex, table);
    else
      read_binary(field.bytes, vertex, table);
  }
  RecordLayout records() const override { return records_of(header_); }
  bool text() const override { return header_.encoding == PlyHeader::Encoding::ascii; }

 private:
  void read_binary(std::span<const std::byte> bytes, const PlyElement& vertex, CloudTable& table) {
    BinaryReader reader(bytes, header_.data_begin, table.swapped);
    for (std::size_t i = 0; i < header_.vertex; ++i) reader.skip(header_.elements[i]);
    reader.check(vertex);
    if (!vertex.has_lists()) {
      const std::uint64_t shift = reader.position() - header_.data_begin;
      for (TableColumn& column : table.xyz) column.begin += shift;
      for (TableColumn& column : table.columns) column.begin += shift;
      return;
    }
    // The bytes are copied as stored. Readers of the columns swap them if necessary.
    table.own = true;
    const std::uint64_t stride = vertex.least_bytes();
    for (TableColumn& column : table.xyz) column.begin -= header_.data_begin;
    for (TableColumn& column : table.columns) column.begin -= header_.data_begin;
    table.memory.resize(vertex.count * stride);
    std::byte* to = table.memory.data();
    for (std::uint64_t i = 0; i < vertex.count; ++i) {
      for (const PlyProperty& property : vertex.properties) {
        const std::size_t size = size_of(property.length.value_or(property.dtype));
        if (property.length)
          reader.skip(property);
        else
          std::memcpy(to, reader.take(size), size);
        to += size;
      }
    }
  }

  void read_text(std::span<const std::byte> bytes, const PlyElement& vertex, CloudTable& table) {
    TextReader reader("ply", bytes.subspan(header_.data_begin), " \t", header_.data_line);
    for (std::size_t i = 0; i < header_.vertex; ++i) {
      const PlyElement& element = header_.elements[i];
      if (element.properties.empty()) continue;
      for (std::uint64_t k = 0; k < element.count; ++k) {
        read_line(reader, element, [](std::size_t, std::string_view) {});
      }
    }
    // A number needs at least a digit and a separator. This bound prevents huge allocations for a wrong vertex count.
    if (vertex.count > (reader.left() + 1) / (2 * vertex.properties.size())) {
      throw Error::corrupt("ply: " + std::to_string(vertex.count) + " vertices do not fit the file");
    }
    table.lay_out_columns(vertex.count, wanted_);
    const Targets targets = targets_of(vertex, table);
    for (std::uint64_t i = 0; i < vertex.count; ++i) {
      read_line(reader, vertex, [&](std::size_t property, std::string_view word) {
        const TableColumn* column = targets[property];
        if (column == nullptr) return;
        store_number(reader, word, column->dtype, table.memory.data() + column->begin + i * column->stride);
      });
    }
  }

  /// Reads an element, which is one line, so that a line with too few numbers is not filled from the next one. Calls
  /// each(number of the property, its word); for a list, the word is its length.
  template <typename Each>
  static void read_line(TextReader& reader, const PlyElement& element, const Each& each) {
    std::string_view word = reader.word("its last vertex");
    const auto next = [&] {
      if (word.empty()) reader.fail("fewer numbers than the header specifies for element '" + element.name + "'");
      return std::exchange(word, reader.word_of_line());
    };
    for (std::size_t i = 0; i < element.properties.size(); ++i) {
      const std::string_view first = next();
      if (element.properties[i].length) {
        for (std::uint64_t items = count_of(reader, first); items != 0; --items) next();
      }
      each(i, first);
    }
    if (!word.empty()) reader.fail("more numbers than the header specifies for element '" + element.name + "'");
  }

  std::vector<std::string> wanted_;
  PlyHeader header_;
};

class PlyCodec final : public CloudCodec {
 public:
  std::string_view name() const override { return "ply"; }
  bool recognises(std::span<const std::byte> first_bytes) const override { return is_ply(first_bytes); }
  std::unique_ptr<CloudDecoder> cloud_decoder(const DecodeOptions& options) const override {
    return std::make_unique<PlyDecoder>(options);
  }
  std::uint64_t prefix_bytes() const override { return kPrefix; }

  /// Returns the header text and the first record, which determines the origin. Returns nothing for files that are not
  /// read record by record.
  std::vector<std::byte> header(std::span<const std::byte> bytes) const override {
    return record_header(bytes, [&]() -> std::optional<RecordLayout> {
      const PlyHeader header = read_ply_header(bytes);
      return has_records(header) && header.elements[header.vertex].count != 0 ? std::optional(records_of(header))
                                                                              : std::nullopt;
    });
  }

  std::optional<CloudHeader> cloud(const FieldHeader& field) const override {
    if (field.header.empty()) return std::nullopt;
    const PlyHeader header = read_ply_header(field.header);
    if (!has_records(header)) return std::nullopt;
    check_records("ply", records_of(header), header.elements[header.vertex].count, field.length);
    return header_of_records(*this, field);
  }

  bool select_points(const FieldHeader& field, std::span<const std::uint32_t> numbers,
                     std::vector<ByteRange>& ranges) const override {
    if (!cloud(field)) return false;
    select_records(records_of(read_ply_header(field.header)), numbers, ranges);
    return true;
  }
};

}  // namespace

const CloudCodec& ply_codec() {
  static const PlyCodec codec;
  return codec;
}

}  // namespace penstock
