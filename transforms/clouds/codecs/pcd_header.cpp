#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <penstock/error.hpp>
#include <transforms/clouds/codecs/pcd_header.hpp>
#include <transforms/clouds/codecs/text_numbers.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kMostNumbers = 4096;  // per point; feature descriptors have up to several hundred

std::vector<std::string> rest_of_line(TextReader& reader) {
  std::vector<std::string> words;
  for (std::string_view word = reader.word_of_line(); !word.empty(); word = reader.word_of_line()) {
    words.emplace_back(word);
    if (words.size() > kMostNumbers) throw Error::unsupported("pcd: more than 4,096 fields");
  }
  return words;
}

std::uint64_t count_in(TextReader& reader) {
  return count_of(reader, reader.word_of_line());
}

DType type_of(const std::string& type, const std::string& size) {
  struct Known {
    std::string_view type, size;
    DType dtype;
  };
  static constexpr std::array<Known, 10> kKnown{{{"I", "1", DType::i8},
                                                 {"I", "2", DType::i16},
                                                 {"I", "4", DType::i32},
                                                 {"I", "8", DType::i64},
                                                 {"U", "1", DType::u8},
                                                 {"U", "2", DType::u16},
                                                 {"U", "4", DType::u32},
                                                 {"U", "8", DType::u64},
                                                 {"F", "4", DType::f32},
                                                 {"F", "8", DType::f64}}};
  for (const Known& known : kKnown) {
    if (known.type == type && known.size == size) return known.dtype;
  }
  throw Error::unsupported("pcd: unknown type '" + type.substr(0, 40) + "' of " + size.substr(0, 40) + " bytes");
}

/// The values of the header's lines.
struct Lines {
  std::vector<std::string> fields, sizes, types, counts;
  std::optional<std::uint64_t> width, height, points;
};

void check_length(const std::vector<std::string>& words, const Lines& lines, const char* name) {
  if (!words.empty() && words.size() != lines.fields.size()) {
    throw Error::corrupt(std::string("pcd: ") + name + " has " + std::to_string(words.size()) +
                         " entries, but FIELDS has " + std::to_string(lines.fields.size()));
  }
}

std::vector<PcdField> fields_of(const TextReader& reader, const Lines& lines) {
  if (lines.fields.empty()) throw Error::corrupt("pcd: the header has no FIELDS");
  check_length(lines.sizes, lines, "SIZE");
  check_length(lines.types, lines, "TYPE");
  check_length(lines.counts, lines, "COUNT");
  std::vector<PcdField> fields;
  std::uint64_t numbers = 0;
  for (std::size_t i = 0; i < lines.fields.size(); ++i) {
    const std::uint64_t count = lines.counts.empty() ? 1 : count_of(reader, lines.counts[i]);
    if (count > kMostNumbers || (numbers += count) > kMostNumbers) {
      throw Error::unsupported("pcd: more than 4,096 numbers in a point");
    }
    const std::string type = lines.types.empty() ? "F" : lines.types[i],
                      size = lines.sizes.empty() ? "4" : lines.sizes[i];
    fields.push_back({lines.fields[i], type_of(type, size), static_cast<std::uint32_t>(count)});
  }
  return fields;
}

std::optional<std::uint64_t> points_of(const Lines& lines) {
  if (!lines.width) return lines.points;
  const std::uint64_t height = lines.height.value_or(1);
  if (height != 0 && *lines.width > std::numeric_limits<std::uint32_t>::max() / height) {
    throw Error::corrupt("pcd: WIDTH and HEIGHT specify more than 4,294,967,295 points");
  }
  const std::uint64_t points = *lines.width * height;
  if (lines.points && *lines.points != points) {
    throw Error::corrupt("pcd: POINTS is " + std::to_string(*lines.points) + ", but WIDTH times HEIGHT is " +
                         std::to_string(points));
  }
  return points;
}

PcdHeader::Encoding encoding_named(const TextReader& reader, std::string_view name) {
  if (name == "ascii") return PcdHeader::Encoding::ascii;
  if (name == "binary") return PcdHeader::Encoding::binary;
  if (name == "binary_compressed") return PcdHeader::Encoding::compressed;
  reader.fail("unknown DATA format '" + std::string(name.substr(0, 40)) + "'");
}

}  // namespace

std::uint64_t PcdHeader::record_bytes() const {
  std::uint64_t bytes = 0;
  for (const PcdField& field : fields) bytes += field.bytes();
  return bytes;
}

bool is_pcd(std::span<const std::byte> bytes) {
  TextReader reader("pcd", bytes.first(std::min<std::size_t>(bytes.size(), 4096)));
  bool version = false;
  while (!reader.at_end()) {
    const std::string_view word = reader.word_of_line();
    const std::string_view second = reader.word_of_line();
    if (word == "#" && second.starts_with(".PCD")) return true;
    if (word == "FIELDS" || word == "COLUMNS") return version || !second.empty();
    version = version || word == "VERSION";
    if (!word.empty() && word[0] != '#' && word != "VERSION") return false;
    reader.next_line();
  }
  return false;
}

PcdHeader read_pcd_header(std::span<const std::byte> bytes) {
  TextReader reader("pcd", bytes);
  PcdHeader header;
  Lines lines;
  for (;;) {
    if (reader.at_end()) throw Error::corrupt("pcd: ends before the DATA line");
    const std::string_view key = reader.word_of_line();
    if (key == "DATA") break;
    if (key == "FIELDS" || key == "COLUMNS") lines.fields = rest_of_line(reader);
    if (key == "SIZE") lines.sizes = rest_of_line(reader);
    if (key == "TYPE") lines.types = rest_of_line(reader);
    if (key == "COUNT") lines.counts = rest_of_line(reader);
    if (key == "WIDTH") lines.width = count_in(reader);
    if (key == "HEIGHT") lines.height = count_in(reader);
    if (key == "POINTS") lines.points = count_in(reader);
    static constexpr std::array<std::string_view, 9> kKeys{"FIELDS", "COLUMNS", "SIZE",   "TYPE",     "COUNT",
                                                           "WIDTH",  "HEIGHT",  "POINTS", "VIEWPOINT"};
    const bool known =
        key.empty() || key[0] == '#' || key == "VERSION" || std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
    if (!known) reader.fail("'" + std::string(key.substr(0, 40)) + "' is not part of a header");
    reader.next_line();
  }
  header.encoding = encoding_named(reader, reader.word_of_line());
  header.fields = fields_of(reader, lines);
  header.points = points_of(lines);
  reader.next_line();
  header.data_begin = reader.position();
  header.data_line = reader.line();
  return header;
}

}  // namespace penstock
