#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <formats/text/byte_order_mark.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/table.hpp>
#include <transforms/clouds/codecs/text_numbers.hpp>
#include <transforms/clouds/codecs/xyz.hpp>

namespace penstock {
namespace {

constexpr std::string_view kSeparators = " \t,;", kCells = ",;";
constexpr std::size_t kMostColumns = 4096;

using Words = std::vector<std::string_view>;

/// Properties of the lines before the first point.
struct Preamble {
  std::size_t begin = 0;   ///< offset of the first point's line
  std::uint64_t line = 1;  ///< number of that line
  std::size_t columns = 0;
  std::vector<std::string> names = {};
  std::uint64_t stated = 0;  ///< number of points that the file states
  bool states = false;
  bool table = false;  ///< cells are separated by commas or semicolons, and may be empty

  /// Returns a reader from the first point on.
  TextReader reader(std::span<const std::byte> bytes) const {
    return {"xyz", bytes.subspan(begin), table ? kCells : kSeparators, line};
  }
  /// Reads the next word or cell. Returns false at the end of the line.
  bool next(TextReader& reader, std::string_view& word) const {
    if (table) return reader.cell_of_line(word);
    word = reader.word_of_line();
    return !word.empty();
  }
};

bool is_comment(std::string_view word) {
  return word.starts_with("#") || word.starts_with("//");
}

std::string_view trimmed_quotes(std::string_view word) {
  if (word.starts_with('"')) word.remove_prefix(1);
  if (word.ends_with('"')) word.remove_suffix(1);
  return word;
}

/// A line split in two ways: at blanks, and, if it contains commas or semicolons, into the cells of a table.
struct Line {
  explicit Line(std::string_view text) {
    if (text.find_first_of(kCells) != std::string_view::npos) {
      TextReader reader("xyz", std::as_bytes(std::span(text)), kCells);
      for (std::string_view cell; cells.size() <= kMostColumns && reader.cell_of_line(cell);) cells.push_back(cell);
      one_more = reader.cell_may_follow();
    }
    TextReader reader("xyz", std::as_bytes(std::span(text)), kSeparators);
    for (std::string_view word = reader.word_of_line(); !word.empty() && words.size() <= kMostColumns;
         word = reader.word_of_line()) {
      words.push_back(word);
    }
  }

  /// Returns whether the line is a row of a table. "1 2, 3 4, 5 6" is not one: both blanks and commas separate its
  /// numbers.
  bool is_table() const {
    constexpr std::size_t kAxes = 3;
    if (cells.size() < kAxes) return false;
    return std::none_of(cells.begin(), cells.begin() + kAxes, [](std::string_view cell) {
      return cell.find_first_of(" \t") != std::string_view::npos &&
             is_number(cell.substr(0, cell.find_first_of(" \t")));
    });
  }
  bool too_long() const { return std::max(words.size(), cells.size()) > kMostColumns; }

  Words words, cells;
  bool one_more = false;  ///< a separator ends the line, so an empty cell may follow
};

std::vector<std::string> names_in(const Words& words) {
  std::vector<std::string> names;
  for (std::string_view word : words) {
    if (names.empty()) word.remove_prefix(std::min(word.find_first_not_of("#/ \t"), word.size()));
    if (!word.empty() || !names.empty()) names.emplace_back(word);
  }
  return names;
}

/// Returns the columns named x, y and z.
std::optional<std::array<std::size_t, 3>> named_axes(const std::vector<std::string>& names) {
  std::array<std::size_t, 3> axes{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string lower(1, "xyz"[axis]), upper(1, "XYZ"[axis]);
    std::size_t at = 0;
    while (at < names.size() && names[at] != lower && names[at] != upper) ++at;
    if (at == names.size()) return std::nullopt;
    axes[axis] = at;
  }
  return axes;
}

/// Returns whether the first line names the columns. A point whose coordinates are words, such as "N/A" or "-1.#IND",
/// is not such a line: another column has a number, or two of the first three words are equal.
bool is_header(const Words& words) {
  if (named_axes(names_in(words))) return true;
  const bool numbers = std::ranges::any_of(words, [](std::string_view word) {
    return is_number(trimmed_quotes(word.substr(0, word.find_first_of(" \t"))));
  });
  if (numbers) return false;
  if (words.size() < 3) return true;  // a title
  const bool values = std::any_of(words.begin(), words.begin() + 3, [](std::string_view word) {
    return std::string_view("+-.0123456789").find(trimmed_quotes(word).substr(0, 1)) != std::string_view::npos;
  });
  return !values && words[0] != words[1] && words[0] != words[2] && words[1] != words[2];
}

void take_columns(const TextReader& reader, const Line& line, bool header, Preamble& preamble) {
  preamble.table = line.is_table();
  preamble.columns = preamble.table ? line.cells.size() : line.words.size();
  if (preamble.table && line.one_more && preamble.names.size() == preamble.columns + 1) ++preamble.columns;
  if (preamble.columns < 3) reader.fail("a point has fewer than three numbers");
  if (preamble.names.size() == preamble.columns) return;
  if (preamble.table && header) {
    reader.fail(std::to_string(preamble.columns) + " numbers, but " + std::to_string(preamble.names.size()) +
                " names of columns");
  }
  preamble.names.clear();
}

Preamble read_preamble(std::span<const std::byte> bytes) {
  TextReader reader("xyz", bytes, kSeparators);
  Preamble preamble;
  bool first = true, named = false;
  while (!reader.at_end()) {
    preamble.begin = reader.position();
    preamble.line = reader.line();
    const TextReader at = reader;  // so that messages name this line
    const Line line(reader.next_line());
    if (line.too_long()) at.fail("more than 4,096 numbers");
    if (line.words.empty() && line.cells.empty()) continue;
    const std::string_view begin = line.words.empty() ? std::string_view() : line.words[0];
    const bool comment = is_comment(begin);
    const Words& words = line.cells.empty() ? line.words : line.cells;
    const bool header = first && !comment && !begin.empty() && is_header(words);
    if (comment && named) continue;
    if (comment || header) {
      preamble.names = names_in(words);
      named = header;
    } else if (first && line.words.size() == 1 && line.cells.empty()) {
      preamble.stated = count_of(at, begin);
      preamble.states = true;
    } else {
      take_columns(at, line, named, preamble);
      return preamble;
    }
    if (!comment) first = false;
  }
  return preamble;
}

std::uint64_t points_in(const Preamble& preamble, std::span<const std::byte> bytes) {
  TextReader reader = preamble.reader(bytes);
  std::uint64_t points = 0;
  std::string_view word;
  for (; preamble.columns != 0 && !reader.at_end(); reader.next_line()) {
    if (preamble.next(reader, word) && !is_comment(word)) ++points;
  }
  if (preamble.states && preamble.stated > points) {
    throw Error::corrupt("xyz: the first line states " + std::to_string(preamble.stated) +
                         " points, but there are only " + std::to_string(points));
  }
  return points;
}

class XyzDecoder final : public TableDecoder {
 public:
  explicit XyzDecoder(const DecodeOptions& options) : wanted_(options.attributes) {}

 protected:
  void read(const FieldBytes& field, CloudTable& table) override {
    const std::string_view text(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
    const std::span<const std::byte> bytes = field.bytes.last(without_byte_order_mark(text).size());
    const Preamble preamble = read_preamble(bytes);
    const std::uint64_t points = points_in(preamble, bytes);
    const auto axes = named_axes(preamble.names).value_or(std::array<std::size_t, 3>{0, 1, 2});
    constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<std::size_t> attributes(preamble.columns, kNone);
    for (std::size_t i = 0; i < preamble.columns; ++i) {
      if (i == axes[0] || i == axes[1] || i == axes[2]) continue;
      attributes[i] = table.columns.size();
      const bool nameless = preamble.names.empty() || preamble.names[i].empty();
      table.add(nameless ? "column_" + std::to_string(i + 1) : preamble.names[i], {.dtype = DType::f64});
    }
    table.lay_out_columns(points, wanted_);
    std::vector<const TableColumn*> columns;
    for (const std::size_t number : attributes) columns.push_back(number == kNone ? nullptr : &table.columns[number]);
    for (std::size_t axis = 0; axis < 3 && preamble.columns != 0; ++axis) columns[axes[axis]] = &table.xyz[axis];
    read_points(bytes, preamble, columns, table);
  }
  bool text() const override { return true; }

 private:
  void read_points(std::span<const std::byte> bytes, const Preamble& preamble,
                   const std::vector<const TableColumn*>& columns, CloudTable& table) {
    TextReader reader = preamble.reader(bytes);
    for (std::uint64_t point = 0; point < table.points; reader.next_line()) {
      std::string_view word;
      bool there = preamble.next(reader, word);
      if (!there || is_comment(word)) continue;
      for (const TableColumn* column : columns) {
        if (!there && !reader.cell_may_follow()) reader.fail("fewer numbers than the first point has");
        if (!there || (preamble.table && word.empty())) word = "nan";
        if (column->stride != 0)
          store_number(reader, word, DType::f64, table.memory.data() + column->begin + point * column->stride);
        there = preamble.next(reader, word);
      }
      if (there) reader.fail("more numbers than the first point has");
      ++point;
    }
  }

  std::vector<std::string> wanted_;
};

class XyzCodec final : public CloudCodec {
 public:
  std::string_view name() const override { return "xyz"; }
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
