#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include <base/printable.hpp>
#include <formats/labels/label_table.hpp>
#include <formats/rows/read_table.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using Json = nlohmann::json;

// Leading zeros, as in "007", mark a name.
bool is_number(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return false;
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find_first_of(separators);
    parts.push_back(without_blanks(text.substr(0, at)));
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  std::erase(parts, std::string_view());
  return parts;
}

// Parses a word of a list. Quotes as in Python and JSON mark text.
LabelItem item_of(std::string_view part) {
  const bool quoted = part.size() >= 2 && (part.front() == '"' || part.front() == '\'') && part.front() == part.back();
  if (quoted) part = part.substr(1, part.size() - 2);
  return {.text = std::string(part), .number = !quoted && is_number(part)};
}

void set_list(LabelRow& row, const std::vector<std::string_view>& parts) {
  row.list = true;
  for (const std::string_view part : parts) row.items.push_back(item_of(part));
}

// "[1, 2]", "cat;dog", "a|b" and "0.1 0.2" are lists. Everything else is one word or number.
LabelRow row_of(std::string key, std::string_view cell) {
  LabelRow row{.key = std::move(key), .items = {}, .list = false};
  cell = without_blanks(cell);
  if (cell.size() >= 2 && cell.front() == '[' && cell.back() == ']') {
    const std::string_view inner = cell.substr(1, cell.size() - 2);
    set_list(row, split(inner, inner.find_first_of(",;") == std::string_view::npos ? " \t" : ",;"));
    return row;
  }
  if (cell.find_first_of(";|") != std::string_view::npos) {
    set_list(row, split(cell, ";|"));
    return row;
  }
  const std::vector<std::string_view> words = split(cell, " \t");
  if (words.size() > 1 && std::all_of(words.begin(), words.end(), is_number)) {
    set_list(row, words);
    return row;
  }
  if (!cell.empty()) row.items.push_back({.text = std::string(cell), .number = is_number(cell)});
  return row;
}

LabelItem item_of(const Json& value) {
  if (value.is_string()) return {.text = value.get<std::string>(), .number = false};
  if (value.is_boolean()) return {.text = value.get<bool>() ? "1" : "0", .number = true};
  if (value.is_number()) return {.text = value.dump(), .number = true};
  throw Error::corrupt("the label is neither text nor a number");
}

LabelRow row_of_json(std::string key, std::string_view text) {
  const Json value = Json::parse(text);
  LabelRow row{.key = std::move(key), .items = {}, .list = value.is_array()};
  if (row.list) {
    for (const Json& item : value) row.items.push_back(item_of(item));
  } else {
    row.items.push_back(item_of(value));
  }
  return row;
}

std::size_t key_column(const std::vector<std::string>& columns) {
  static constexpr std::array<std::string_view, 1> kKey{"key"}, kId{"id"};
  if (const auto key = column_among(columns, kKey)) return *key;
  if (const auto path = column_among(columns, kPathColumns)) return *path;
  return column_among(columns, kId).value_or(0);
}

LabelTable read_rows(const std::filesystem::path& path, const std::string& wanted) {
  const RowTable table = read_table(path);
  if (table.rows.empty()) return {};
  const std::size_t key = key_column(table.columns);
  const std::optional<std::size_t> value =
      wanted.empty() ? label_column(table.columns, key) : column_named(table.columns, wanted);
  if (!value)
    throw Error::invalid_argument("name the column that contains the labels (FILE:COLUMN); the columns are " +
                                  joined_text(table.columns, ", "));
  LabelTable labels{.column = table.columns[*value], .rows = {}};
  for (const TableRow& row : table.rows) labels.rows.push_back(label_row(row.cells[key].text, row.cells[*value]));
  return labels;
}

using IsSample = std::function<bool(std::string_view name)>;

// Returns the end of the name in "NAME LABEL": the first tab. Without a tab, the last blank before which the line names
// a sample, else the first blank. Names and labels may both contain blanks.
std::size_t end_of_name(std::string_view line, const IsSample& is_sample) {
  if (const std::size_t tab = line.find('\t'); tab != std::string_view::npos) return tab;
  const std::size_t first = line.find(' ');
  for (std::size_t blank = line.rfind(' '); blank != first; blank = line.rfind(' ', blank - 1)) {
    if (is_sample(without_blanks(line.substr(0, blank)))) return blank;
  }
  return first;
}

LabelTable read_txt(std::string_view text, const std::string& wanted, const IsSample& is_sample) {
  if (!wanted.empty()) throw Error::invalid_argument("a text file of labels has no column \"" + wanted + "\"");
  LabelTable table;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t cut = end_of_name(line, is_sample);
    if (cut == std::string_view::npos) throw Error::corrupt("no label after \"" + std::string(line) + "\"");
    table.rows.push_back(row_of(std::string(without_blanks(line.substr(0, cut))), line.substr(cut + 1)));
  }
  return table;
}

}  // namespace

LabelRow label_row(std::string key, const TableCell& cell) {
  using Kind = TableCell::Kind;
  try {
    if (cell.kind == Kind::json) return row_of_json(std::move(key), cell.text);
  } catch (const Error& error) {
    throw error.in({.key = key});
  }
  if (cell.kind != Kind::text) return row_of(std::move(key), cell.text);
  return {.key = std::move(key), .items = {{.text = cell.text, .number = false}}, .list = false};
}

std::optional<std::size_t> label_column(const std::vector<std::string>& columns, std::size_t key) {
  if (columns.size() == 2) return 1 - key;
  const auto usual = column_among(columns, kLabelColumns);
  return usual == key ? std::nullopt : usual;
}

std::optional<std::int64_t> whole_value(const LabelItem& item) {
  if (!item.number) return std::nullopt;
  const char* end = item.text.data() + item.text.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(item.text.data(), end, whole); read.ec == std::errc() && read.ptr == end) {
    return whole;
  }
  double value = 0;
  std::from_chars(item.text.data(), end, value);
  if (value != std::trunc(value) || std::abs(value) > 0x1p53) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

float float_value(const LabelItem& item) {
  double value = 0;
  std::from_chars(item.text.data(), item.text.data() + item.text.size(), value);
  return static_cast<float>(value);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  return split(text, "\n");
}

LabelTable read_label_table(const std::filesystem::path& path, const std::string& column, const IsSample& is_sample) {
  try {
    LabelTable table =
        is_table_name(path) ? read_rows(path, column) : read_txt(read_text_file(path), column, is_sample);
    if (table.rows.empty()) throw Error::corrupt("contains no labels");
    return table;
  } catch (const Error& error) {
    throw error.in({.shard = path.string()});
  }
}

}  // namespace penstock
