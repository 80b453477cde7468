#include <array>
#include <string>

#include <penstock/formats/error.hpp>
#include <penstock/transforms/clouds/table.hpp>
#include <penstock/transforms/clouds/text_numbers.hpp>
#include <penstock/transforms/clouds/xyz.hpp>

namespace penstock {
namespace {

constexpr std::string_view kSeparators = " \t,;";
constexpr std::size_t kMostColumns = 4096;

using Words = std::vector<std::string_view>;

/// Where the points begin, and what stands before them.
struct Preamble {
  std::size_t begin = 0;   ///< bytes before the first point's line
  std::uint64_t line = 1;  ///< its number
  std::size_t columns = 0;
  std::vector<std::string> names = {};
  std::uint64_t stated = 0;  ///< number of points
  bool states = false;
};

void words_of_line(TextReader& reader, Words& words) {
  words.clear();
  for (std::string_view word = reader.word_of_line(); !word.empty(); word = reader.word_of_line()) {
    words.push_back(word);
    if (words.size() > kMostColumns) reader.fail("more than 4,096 numbers");
  }
}

bool is_comment(std::string_view word) {
  return word[0] == '#' || word.starts_with("//");
}

std::vector<std::string> names_in(const Words& words) {
  std::vector<std::string> names;
  for (std::string_view word : words) {
    if (names.empty()) word.remove_prefix(std::min(word.find_first_not_of("#/"), word.size()));
    if (!word.empty()) names.emplace_back(word);
  }
  return names;
}

Preamble read_preamble(std::span<const std::byte> bytes) {
  TextReader reader("xyz", bytes, kSeparators);
  Preamble preamble;
  Words words;
  bool first = true;
  for (; !reader.at_end(); reader.next_line()) {
    preamble.begin = reader.place();
    preamble.line = reader.line();
    words_of_line(reader, words);
    if (words.empty()) continue;
    const bool comment = is_comment(words[0]);
    const bool header = first && !comment && !is_number(words[0]);
    if (comment || header) preamble.names = names_in(words);
    if (first && !comment && words.size() == 1 && !header) {
      preamble.stated = count_of(reader, words[0]);
      preamble.states = true;
    } else if (!comment && !header) {
      preamble.columns = words.size();
      if (words.size() < 3) reader.fail("a point has fewer than three numbers");
      if (preamble.names.size() != words.size()) preamble.names.clear();
      return preamble;
    }
    if (!comment) first = false;
  }
  return preamble;
}

/// The column of each coordinate.
std::array<std::size_t, 3> axes_of(const Preamble& preamble) {
  std::array<std::size_t, 3> axes{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string lower(1, "xyz"[axis]), upper(1, "XYZ"[axis]);
    std::size_t at = 0;
    while (at < preamble.names.size() && preamble.names[at] != lower && preamble.names[at] != upper) ++at;
    if (at == preamble.names.size()) return {0, 1, 2};
    axes[axis] = at;
  }
  return axes;
}

std::uint64_t points_in(const Preamble& preamble, std::span<const std::byte> bytes) {
  TextReader reader("xyz", bytes.subspan(preamble.begin), kSeparators, preamble.line);
  std::uint64_t points = 0;
  for (; preamble.columns != 0 && !reader.at_end(); reader.next_line()) {
    const std::string_view word = reader.word_of_line();
    if (!word.empty() && !is_comment(word)) ++points;
  }
  if (preamble.states && preamble.stated > points) {
    throw Error::corrupt("xyz: the first line says " + std::to_string(preamble.stated) + " points, there are only " +
                         std::to_string(points));
  }
  return points;
}

class XyzDecoder final : public TableDecoder {
 public:
  explicit XyzDecoder(const DecodeOptions& options) : wanted_(options.attributes) {}

 protected:
  void read(const FieldBytes& field, CloudTable& table) override {
    const Preamble preamble = read_preamble(field.bytes);
    const std::uint64_t points = points_in(preamble, field.bytes);
    const auto axes = axes_of(preamble);
    constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<std::size_t> attributes(preamble.columns, kNone);
    for (std::size_t i = 0; i < preamble.columns; ++i) {
      if (i == axes[0] || i == axes[1] || i == axes[2]) continue;
      attributes[i] = table.columns.size();
      table.add(preamble.names.empty() ? "column_" + std::to_string(i + 1) : preamble.names[i], {.dtype = DType::f64});
    }
    table.lay_out_columns(points, wanted_);
    std::vector<const TableColumn*> columns;
    for (const std::size_t number : attributes) columns.push_back(number == kNone ? nullptr : &table.columns[number]);
    for (std::size_t axis = 0; axis < 3 && preamble.columns != 0; ++axis) columns[axes[axis]] = &table.xyz[axis];
    read_points(field.bytes, preamble, columns, table);
  }
  bool text() const override { return true; }

 private:
  void read_points(std::span<const std::byte> bytes, const Preamble& preamble,
                   const std::vector<const TableColumn*>& columns, CloudTable& table) {
    TextReader reader("xyz", bytes.subspan(preamble.begin), kSeparators, preamble.line);
    for (std::uint64_t point = 0; point < table.points; reader.next_line()) {
      std::string_view word = reader.word_of_line();
      if (word.empty() || is_comment(word)) continue;
      for (const TableColumn* column : columns) {
        if (word.empty()) reader.fail("fewer numbers than the first point has");
        if (column->stride != 0)
          store_number(reader, word, DType::f64, table.memory.data() + column->begin + point * column->stride);
        word = reader.word_of_line();
      }
      if (!word.empty()) reader.fail("more numbers than the first point has");
      ++point;
    }
  }

  std::vector<std::string> wanted_;
};

class XyzCodec final : public CloudCodec {
 public:
  std::string_view name() const override { return "xyz"; }
  bool recognises(std::span<const std::byte>) const override { return false; }
  std::unique_ptr<CloudDecoder> cloud_decoder(const DecodeOptions& options) const override {
    return std::make_unique<XyzDecoder>(options);
  }
};

}  // namespace

const CloudCodec& xyz_codec() {
  static const XyzCodec codec;
  return codec;
}

}  // namespace penstock
