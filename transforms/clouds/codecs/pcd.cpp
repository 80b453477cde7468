#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include <formats/filters/lzf.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/pcd.hpp>
#include <transforms/clouds/codecs/pcd_header.hpp>
#include <transforms/clouds/codecs/table.hpp>
#include <transforms/clouds/codecs/text_numbers.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kPrefix = 4096;
constexpr std::uint64_t kMostExpansion = 88;  // LZF limit: three bytes copy 264
constexpr std::size_t kColour = 3;            // role of a packed colour, after the three axes

/// Returns 0, 1, 2 for a coordinate, kColour for a packed colour, else kColour + 1.
std::size_t role_of(const PcdField& field) {
  if (field.count != 1) return kColour + 1;
  const std::size_t axis = field.name.size() == 1 ? std::string_view("xyzXYZ").find(field.name[0]) : std::string::npos;
  if (axis != std::string::npos) return axis % 3;
  const bool packed = (field.name == "rgb" || field.name == "rgba") && size_of(field.dtype) == 4;
  return packed ? kColour : kColour + 1;
}

void add_colour(const PcdField& field, const TableColumn& packed, CloudTable& table) {
  static constexpr std::array<std::pair<const char*, std::uint64_t>, 4> kBytes{
      {{"red", 2}, {"green", 1}, {"blue", 0}, {"alpha", 3}}};
  for (const auto& [name, offset] : kBytes) {
    if (offset == 3 && field.name != "rgba") continue;
    table.add(name, {DType::u8, packed.begin + offset, packed.stride});
  }
}

/// Fills the table's columns. locate(field, bytes of a point before it) returns the place of the field's numbers.
template <typename Locate>
void tabulate(const PcdHeader& header, CloudTable& table, const Locate& locate) {
  std::array<bool, 3> found{};
  std::uint64_t before = 0;
  for (const PcdField& field : header.fields) {
    const TableColumn column = locate(field, before);
    before += field.bytes();
    if (field.name == "_") continue;
    const std::size_t role = role_of(field);
    if (role < 3 && !found[role]) {
      table.xyz[role] = column;
      found[role] = true;
    } else if (role == kColour) {
      add_colour(field, column, table);
    } else {
      for (std::uint32_t i = 0; i < field.count; ++i) {
        const std::string name = field.count == 1 ? field.name : field.name + "[" + std::to_string(i) + "]";
        table.add(name, {field.dtype, column.begin + i * size_of(field.dtype), column.stride});
      }
    }
  }
  if (!found[0] || !found[1] || !found[2]) throw Error::unsupported("pcd: points have no x, y and z");
}

/// Destination of a number in a line of text.
struct Target {
  enum class Kind : std::uint8_t { padding, skipped, number, colour } kind;
  DType dtype = DType::f64;
  TableColumn* columns = nullptr;  ///< one column; for a colour three, or four with alpha
  std::size_t count = 1;
};

std::vector<Target> targets_of(const PcdHeader& header, CloudTable& table) {
  using Kind = Target::Kind;
  std::vector<Target> targets;
  std::array<bool, 3> found{};
  std::size_t next = 0;
  for (const PcdField& field : header.fields) {
    const std::size_t role = role_of(field);
    if (field.name == "_") {
      targets.resize(targets.size() + field.count, {Kind::padding});
    } else if (role < 3 && !found[role]) {
      targets.push_back({Kind::number, DType::f64, &table.xyz[role]});
      found[role] = true;
    } else if (role == kColour) {
      targets.push_back({Kind::colour, field.dtype, &table.columns[next], field.name == "rgba" ? 4U : 3U});
      next += targets.back().count;
    } else {
      for (std::uint32_t i = 0; i < field.count; ++i, ++next) {
        TableColumn& column = table.columns[next];
        targets.push_back({column.stride == 0 ? Kind::skipped : Kind::number, column.dtype, &column});
      }
    }
  }
  return targets;
}

RecordLayout records_of(const PcdHeader& header) {
  return {header.data_begin, header.record_bytes()};
}

/// Returns the header's point count. If the header has none, returns the number of records in the file.
std::uint64_t binary_points(const PcdHeader& header, std::uint64_t length) {
  if (header.points) return *header.points;
  return header.data_begin > length ? 0 : (length - header.data_begin) / header.record_bytes();
}

class PcdDecoder final : public TableDecoder {
 public:
  explicit PcdDecoder(const DecodeOptions& options) : wanted_(options.attributes) {}

 protected:
  void read(const FieldBytes& field, CloudTable& table) override {
    header_ = read_pcd_header(field.bytes);
    switch (header_.encoding) {
      case PcdHeader::Encoding::ascii:
        return read_text(field.bytes, table);
      case PcdHeader::Encoding::compressed:
        return read_compressed(field.bytes, table);
      case PcdHeader::Encoding::binary:
        break;
    }
    tabulate(header_, table, [&](const PcdField& of, std::uint64_t before) {
      return TableColumn{of.dtype, header_.data_begin + before, header_.record_bytes()};
    });
    table.points = binary_points(header_, field.bytes.size());
    if (field.ranges.empty()) check_records("pcd", records_of(header_), table.points, field.bytes.size());
  }
  RecordLayout records() const override { return records_of(header_); }
  bool text() const override { return header_.encoding == PcdHeader::Encoding::ascii; }

 private:
  // Layout: u32 compressed size, u32 decompressed size, the LZF data. The decompressed bytes hold one column after
  // another.
  void read_compressed(std::span<const std::byte> bytes, CloudTable& table) {
    const auto data = bytes.subspan(header_.data_begin);
    std::array<std::uint32_t, 2> sizes{};
    if (data.size() >= sizeof(sizes))
      std::memcpy(sizes.data(), data.data(), sizeof(sizes));
    else if (header_.points != 0)
      throw Error::corrupt("pcd: ends before the compressed points");
    const auto [packed, plain] = sizes;
    const std::uint64_t record_bytes = header_.record_bytes();
    table.points = header_.points.value_or(plain / record_bytes);
    table.own = true;
    if (table.points > plain / record_bytes || table.points * record_bytes != plain) {
      throw Error::corrupt("pcd: " + std::to_string(plain) + " bytes are not " + std::to_string(table.points) +
                           " points of " + std::to_string(record_bytes));
    }
    if (packed > data.size() - std::min(data.size(), sizeof(sizes)) || plain > packed * kMostExpansion) {
      throw Error::corrupt("pcd: " + std::to_string(packed) + " compressed bytes are missing, or cannot expand to " +
                           std::to_string(plain));
    }
    tabulate(header_, table, [&](const PcdField& of, std::uint64_t before) {
      return TableColumn{of.dtype, table.points * before, of.bytes()};
    });
    table.memory.resize(plain);
    if (plain != 0) lzf_decompress(data.subspan(sizeof(sizes), packed), table.memory);
  }

  void read_text(std::span<const std::byte> bytes, CloudTable& table) {
    const auto data = bytes.subspan(header_.data_begin);
    tabulate(header_, table, [](const PcdField& of, std::uint64_t) { return TableColumn{.dtype = of.dtype}; });
    const std::uint64_t points = header_.points ? *header_.points : lines_of(data);
    // A number needs at least a digit and a separator. This bound prevents huge allocations for a wrong point count.
    if (points > (data.size() + 1) / (2 * (3 + table.columns.size() / 4))) {
      throw Error::corrupt("pcd: " + std::to_string(points) + " points do not fit " + std::to_string(data.size()) +
                           " bytes of text");
    }
    table.lay_out_columns(points, wanted_);
    const std::vector<Target> targets = targets_of(header_, table);
    TextReader reader("pcd", data, kSeparators, header_.data_line);
    for (std::uint64_t i = 0; i < points; ++i) {
      std::string_view word = reader.word("its last point");
      for (const Target& target : targets) {
        if (word.empty() && target.kind != Target::Kind::padding) {
          reader.fail("fewer numbers than FIELDS specifies");
        }
        store(reader, word, target, i, table);
        word = reader.word_of_line();
      }
      reader.next_line();
    }
  }

  static std::uint64_t lines_of(std::span<const std::byte> data) {
    TextReader reader("pcd", data, kSeparators);
    std::uint64_t lines = 0;
    while (!reader.at_end()) {
      if (!reader.word_of_line().empty()) ++lines;
      reader.next_line();
    }
    return lines;
  }

  static void store(const TextReader& reader, std::string_view word, const Target& target, std::uint64_t point,
                    CloudTable& table) {
    const auto place = [&](const TableColumn& column) {
      return table.memory.data() + column.begin + point * column.stride;
    };
    if (target.kind == Target::Kind::number) store_number(reader, word, target.dtype, place(*target.columns));
    if (target.kind != Target::Kind::colour) return;
    std::array<std::byte, 4> packed;  // in the order blue, green, red, alpha
    store_number(reader, word, target.dtype, packed.data());
    static constexpr std::array<std::size_t, 4> kOrder{2, 1, 0, 3};
    for (std::size_t i = 0; i < target.count; ++i)
      if (target.columns[i].stride != 0) *place(target.columns[i]) = packed[kOrder[i]];
  }

  static constexpr std::string_view kSeparators = " \t,";

  std::vector<std::string> wanted_;
  PcdHeader header_;
};

class PcdCodec final : public CloudCodec {
 public:
  std::string_view name() const override { return "pcd"; }
  bool recognises(std::span<const std::byte> first_bytes) const override { return is_pcd(first_bytes); }
  std::unique_ptr<CloudDecoder> cloud_decoder(const DecodeOptions& options) const override {
    return std::make_unique<PcdDecoder>(options);
  }
  std::uint64_t prefix_bytes() const override { return kPrefix; }

  /// Returns the header text and the first record, which determines the origin. Returns nothing for files that are not
  /// read record by record.
  std::vector<std::byte> header(std::span<const std::byte> bytes) const override {
    return record_header(bytes, [&]() -> std::optional<RecordLayout> {
      const PcdHeader header = read_pcd_header(bytes);
      const bool records = header.encoding == PcdHeader::Encoding::binary && header.points.value_or(0) != 0;
      return records ? std::optional(records_of(header)) : std::nullopt;
    });
  }

  std::optional<CloudHeader> cloud(const FieldHeader& field) const override {
    if (field.header.empty()) return std::nullopt;
    const PcdHeader header = read_pcd_header(field.header);
    if (header.encoding != PcdHeader::Encoding::binary || !header.points) return std::nullopt;
    check_records("pcd", records_of(header), *header.points, field.length);
    return header_of_records(*this, field);
  }

  bool select_points(const FieldHeader& field, std::span<const std::uint32_t> numbers,
                     std::vector<ByteRange>& ranges) const override {
    if (!cloud(field)) return false;
    select_records(records_of(read_pcd_header(field.header)), numbers, ranges);
    return true;
  }
};

}  // namespace

const CloudCodec& pcd_codec() {
  static const PcdCodec codec;
  return codec;
}

}  // namespace penstock
