#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <vector>

#include <base/printable.hpp>
#include <formats/index/shared_rows.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using Columns = std::vector<const ColumnSize*>;
using ByRows = std::map<std::uint64_t, Columns>;

// Dimensions of 1 do not count, as in NumPy's broadcasting: (3, 1, 1) is a value for each channel of (3, 224, 224).
bool occurs_in(const Shape& shape, const Shape& row) {
  auto at = row.begin();
  for (const std::int64_t side : shape) {
    if (side == 1) continue;
    at = std::find(at, row.end(), side);
    if (at == row.end()) return false;
    ++at;
  }
  return true;
}

ByRows by_rows(std::span<const ColumnSize> columns) {
  ByRows numbers;
  for (const ColumnSize& column : columns) numbers[column.rows].push_back(&column);
  return numbers;
}

// "X_train", "trainX", "train/images" -> {"x", "train"}, ...
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words{""};
  char last = ' ';
  for (const char c : name) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    const bool begins =
        std::isupper(static_cast<unsigned char>(c)) != 0 && std::islower(static_cast<unsigned char>(last)) != 0;
    if ((!letter || begins) && !words.back().empty()) words.emplace_back();
    if (letter) words.back().push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    last = c;
  }
  return words;
}

constexpr std::array<std::string_view, 5> kTraining{"train", "training", "xtrain", "ytrain", "tr"};
constexpr std::array<std::string_view, 12> kOthers{"test",       "testing", "xtest", "ytest", "te",  "val",
                                                   "validation", "valid",   "xval",  "yval",  "dev", "eval"};

bool has_word(std::string_view name, std::span<const std::string_view> known) {
  return std::ranges::any_of(words_of(name),
                             [&](const std::string& word) { return std::ranges::find(known, word) != known.end(); });
}

bool are_other_split(const Columns& columns, const Columns& of) {
  return std::ranges::all_of(of, [](const ColumnSize* column) { return has_word(column->name, kTraining); }) &&
         std::ranges::all_of(columns, [](const ColumnSize* column) { return has_word(column->name, kOthers); });
}

bool describes(const ColumnSize& a, const ColumnSize& b) {
  constexpr std::array<std::string_view, 7> kDimensions{"shape", "shapes", "size",      "sizes",
                                                        "dim",   "dims",   "dimensions"};
  if (a.rows == b.rows) return false;
  Shape shape{static_cast<std::int64_t>(a.rows)};
  shape.insert(shape.end(), a.row.begin(), a.row.end());
  if (occurs_in(shape, b.row)) return true;
  const std::size_t dimensions = b.row.size();
  if (a.row.empty())
    return a.numbers && (a.rows == dimensions || a.rows == dimensions + 1) && has_word(a.name, kDimensions);
  return a.numbers && a.row.size() == 1 && shape[0] == shape[1] && occurs_in({shape[0]}, b.row);
}

double bytes_of(const Columns& columns) {
  double bytes = 0;
  for (const ColumnSize* column : columns) bytes += static_cast<double>(column->bytes);
  return bytes;
}

// Returns whether each column describes another one that holds more bytes than all of `columns`. If the other one has
// fewer rows, it must hold 16 times as many bytes, because then either could be the samples.
bool are_descriptions(const Columns& columns, std::span<const ColumnSize> all) {
  constexpr double kTimes = 16;
  const double bytes = bytes_of(columns);
  return std::ranges::all_of(columns, [&](const ColumnSize* column) {
    return std::ranges::any_of(all, [&](const ColumnSize& other) {
      const double times = other.rows < column->rows ? kTimes : 1;
      return describes(*column, other) && static_cast<double>(other.bytes) > times * bytes;
    });
  });
}

// Returns whether columns of at most one row are outweighed: at least as many other columns hold more bytes.
bool is_little(const Columns& columns, const ByRows& numbers) {
  return std::ranges::any_of(numbers, [&](const auto& other) {
    return other.first > 1 && other.second.size() >= columns.size() && bytes_of(other.second) > bytes_of(columns);
  });
}

bool confirmed(const Columns& chosen, const Columns& other) {
  constexpr double kTimes = 16;
  const double times = chosen.size() > other.size() ? 1 : kTimes;
  return are_other_split(other, chosen) || bytes_of(chosen) > times * bytes_of(other);
}

// Lists larger numbers first.
std::string list_of(const ByRows& numbers) {
  constexpr std::size_t kNumbers = 8, kNames = 8;
  std::string text;
  std::size_t listed = 0;
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    const auto& [rows, columns] = *number;
    if (listed++ == kNumbers) return text + "; ...";
    text += (text.empty() ? "" : "; ") + std::to_string(rows) + " rows: ";
    for (std::size_t i = 0; i < columns.size() && i <= kNames; ++i)
      text += (i == 0 ? "" : ", ") + (i == kNames ? "..." : one_line(columns[i]->name));
  }
  return text;
}

}  // namespace

std::optional<std::uint64_t> rows_by_evidence(std::span<const ColumnSize> columns,
                                              std::span<const ColumnSize> context) {
  constexpr std::size_t kMostCompared = 1024;  // limits the pairwise comparisons
  ByRows numbers = by_rows(columns);
  if (numbers.size() == 1 && context.empty()) return numbers.begin()->first;
  if (columns.size() + context.size() <= kMostCompared) {
    std::vector<ColumnSize> all(columns.begin(), columns.end());
    all.insert(all.end(), context.begin(), context.end());
    std::erase_if(numbers, [&](const auto& number) { return are_descriptions(number.second, all); });
  }
  const ByRows all_numbers = numbers;
  std::erase_if(numbers,
                [&](const auto& number) { return number.first <= 1 && is_little(number.second, all_numbers); });
  if (numbers.empty()) return std::nullopt;
  const auto most = std::ranges::max_element(
      numbers, [](const auto& a, const auto& b) { return a.second.size() <= b.second.size(); });
  for (auto other = numbers.begin(); other != numbers.end(); ++other) {
    if (other != most && !confirmed(most->second, other->second)) return std::nullopt;
  }
  return most->first;
}

std::uint64_t shared_rows(std::span<const ColumnSize> columns, const std::string& remedy) {
  if (columns.empty()) return 0;
  if (const auto rows = rows_by_evidence(columns)) return *rows;
  throw Error::unsupported("its columns have different numbers of rows, so it is unclear which rows are the samples (" +
                           list_of(by_rows(columns)) + "): " + remedy + ", or open with rows= (the command: " +
                           "--source-rows) and the name of one of these columns");
}

std::uint64_t rows_of_column(std::span<const ColumnSize> columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, &ColumnSize::name);
  if (found != columns.end()) return found->rows;
  throw Error::invalid_argument("there is no column " + double_quoted(name) + " for rows= (" +
                                list_of(by_rows(columns)) + ")");
}

bool names_split(std::string_view name) {
  return has_word(name, kTraining) || has_word(name, kOthers);
}

std::string other_rows(std::uint64_t rows, std::uint64_t samples) {
  return std::to_string(rows) + " rows, but the number of samples is " + std::to_string(samples);
}

}  // namespace penstock
