#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include <base/printable.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/labels/label_table.hpp>
#include <formats/places/places.hpp>
#include <formats/text/byte_order_mark.hpp>
#include <formats/text/json_depth.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

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
    parts.push_back(trimmed(text.substr(0, at)));
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
  cell = trimmed(cell);
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

// Reads the records of a CSV text. Source: RFC 4180, with any separator and either line ending.
class Csv {
 public:
  Csv(std::string_view text, char separator) : text_(text), separator_(separator) {}

  /// Returns the next record that is not an empty line.
  std::optional<std::vector<std::string>> next() {
    while (at_ < text_.size()) {
      ++record_;
      std::vector<std::string> cells = read_record();
      if (cells.size() > 1 || !cells[0].empty()) return cells;
    }
    return std::nullopt;
  }

  std::size_t record() const { return record_; }

 private:
  std::vector<std::string> read_record() {
    std::vector<std::string> cells;
    while (true) {
      cells.push_back(read_cell());
      if (at_ < text_.size() && text_[at_] == separator_) {
        ++at_;
        continue;
      }
      if (at_ < text_.size() && text_[at_] == '\r') ++at_;
      if (at_ < text_.size() && text_[at_] == '\n') ++at_;
      return cells;
    }
  }

  std::string read_cell() {
    if (at_ == text_.size() || text_[at_] != '"') {
      std::size_t end = at_;
      while (end < text_.size() && text_[end] != separator_ && text_[end] != '\n' && text_[end] != '\r') ++end;
      return take(end);
    }
    std::string cell;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != '"') {
        cell += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        cell += text_[++at_];
      } else {
        ++at_;
        const bool ends = at_ == text_.size() || text_[at_] == separator_ || text_[at_] == '\n' || text_[at_] == '\r';
        if (!ends) throw Error::corrupt("text after a closing quote in record " + std::to_string(record_));
        return cell;
      }
    }
    throw Error::corrupt("a quote is not closed in record " + std::to_string(record_));
  }

  std::string take(std::size_t end) {
    const std::string cell(trimmed(text_.substr(at_, end - at_)));
    at_ = end;
    return cell;
  }

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::size_t record_ = 0;
};

// Returns the first column with one of the `known` names, in any case.
std::optional<std::size_t> column_among(const std::vector<std::string>& header,
                                        std::initializer_list<std::string_view> known) {
  for (const std::string_view name : known) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (lower(header[i]) == name) return i;
    }
  }
  return std::nullopt;
}

std::size_t value_column(const std::vector<std::string>& header, std::size_t key, const std::string& wanted) {
  if (!wanted.empty()) {
    const auto found = std::find(header.begin(), header.end(), wanted);
    if (found == header.end()) {
      throw Error::invalid_argument("has no column \"" + wanted + "\"; it has " + joined_text(header, ", "));
    }
    return static_cast<std::size_t>(found - header.begin());
  }
  if (header.size() == 2) return 1 - key;
  const auto usual = column_among(header, {"label", "class", "cls", "target", "category"});
  if (usual && *usual != key) return *usual;
  throw Error::invalid_argument("name the column that contains the labels (FILE:COLUMN); the columns are " +
                                joined_text(header, ", "));
}

LabelTable read_csv(std::string_view text, const std::string& wanted) {
  const std::string_view first_line = text.substr(0, text.find('\n'));
  const char separator = first_line.find('\t') != std::string_view::npos  ? '\t'
                         : first_line.find(',') != std::string_view::npos ? ','
                                                                          : ';';
  Csv csv(text, separator);
  const auto header = csv.next();
  if (!header) throw Error::corrupt("has no header row");
  const std::size_t key = column_among(*header, {"key", "file", "filename", "image", "id"}).value_or(0);
  const std::size_t value = value_column(*header, key, wanted);
  LabelTable table{.column = (*header)[value], .rows = {}};
  while (auto cells = csv.next()) {
    if (cells->size() != header->size()) {
      throw Error::corrupt("record " + std::to_string(csv.record()) + " has " + std::to_string(cells->size()) +
                           " columns, the header has " + std::to_string(header->size()));
    }
    table.rows.push_back(row_of(std::move((*cells)[key]), (*cells)[value]));
  }
  return table;
}

using IsSample = std::function<bool(std::string_view name)>;

// Returns the end of the name in "NAME LABEL": the first tab. Without a tab, the last blank before which the line names
// a sample, else the first blank. Names and labels may both contain blanks.
std::size_t end_of_name(std::string_view line, const IsSample& is_sample) {
  if (const std::size_t tab = line.find('\t'); tab != std::string_view::npos) return tab;
  const std::size_t first = line.find(' ');
  for (std::size_t blank = line.rfind(' '); blank != first; blank = line.rfind(' ', blank - 1)) {
    if (is_sample(trimmed(line.substr(0, blank)))) return blank;
  }
  return first;
}

LabelTable read_txt(std::string_view text, const std::string& wanted, const IsSample& is_sample) {
  if (!wanted.empty()) throw Error::invalid_argument("a text file of labels has no column \"" + wanted + "\"");
  LabelTable table;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t cut = end_of_name(line, is_sample);
    if (cut == std::string_view::npos) throw Error::corrupt("no label after \"" + std::string(line) + "\"");
    table.rows.push_back(row_of(std::string(trimmed(line.substr(0, cut))), line.substr(cut + 1)));
  }
  return table;
}

LabelItem item_of(const Json& value, const std::string& key) {
  if (value.is_string()) return {.text = value.get<std::string>(), .number = false};
  if (value.is_boolean()) return {.text = value.get<bool>() ? "1" : "0", .number = true};
  if (value.is_number()) return {.text = value.dump(), .number = true};
  throw Error::corrupt("the label is neither text nor a number", {.key = key});
}

LabelRow row_of(const std::string& key, const Json& value) {
  LabelRow row{.key = key, .items = {}, .list = value.is_array()};
  if (row.list) {
    for (const Json& item : value) row.items.push_back(item_of(item, key));
  } else {
    row.items.push_back(item_of(value, key));
  }
  return row;
}

std::string key_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Parses {KEY: VALUE, ...} or {KEY: {COLUMN: VALUE, ...}, ...}.
LabelTable read_json_object(const Json& json, const std::string& wanted) {
  LabelTable table{.column = wanted, .rows = {}};
  for (const auto& [key, value] : json.items()) {
    if (!value.is_object()) {
      if (!wanted.empty())
        throw Error::invalid_argument("\"" + key + "\" has no columns, so none is \"" + wanted + "\"");
      table.rows.push_back(row_of(key, value));
      continue;
    }
    if (wanted.empty()) throw Error::invalid_argument("name the member that contains the labels (FILE:COLUMN)");
    if (!value.contains(wanted)) throw Error::corrupt("has no \"" + wanted + "\"", {.key = key});
    table.rows.push_back(row_of(key, value.at(wanted)));
  }
  return table;
}

// Parses [{"key": KEY, COLUMN: VALUE, ...}, ...].
LabelTable read_json_list(const Json& json, const std::string& wanted) {
  LabelTable table;
  for (const Json& object : json) {
    if (!object.is_object()) throw Error::corrupt("a list of labels must contain objects");
    std::vector<std::string> header;
    for (const auto& [name, value] : object.items()) header.push_back(name);
    const std::size_t key = column_among(header, {"key", "file", "filename", "image", "id"}).value_or(0);
    if (header.empty()) throw Error::corrupt("an empty object among the labels");
    table.column = header[value_column(header, key, table.column.empty() ? wanted : table.column)];
    table.rows.push_back(row_of(key_of(object.at(header[key])), object.at(table.column)));
  }
  return table;
}

LabelTable read_json(std::string_view text, const std::string& wanted) {
  require_shallow_json(text);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) return read_json_object(json, wanted);
  if (json.is_array()) return read_json_list(json, wanted);
  throw Error::corrupt("is neither a JSON object nor a list");
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path) {
  const FileBytes file = read_place(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::string copy(without_byte_order_mark(text));
  file.require_whole();
  return copy;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  return split(text, "\n");
}

LabelTable read_label_table(const std::filesystem::path& path, const std::string& column, const IsSample& is_sample) {
  try {
    const std::string text = read_text_file(path);
    const std::string kind = lower(path.extension().string());
    LabelTable table = kind == ".json"                    ? read_json(text, column)
                       : kind == ".csv" || kind == ".tsv" ? read_csv(text, column)
                                                          : read_txt(text, column, is_sample);
    if (table.rows.empty()) throw Error::corrupt("contains no labels");
    return table;
  } catch (const Error& error) {
    throw error.in({.shard = path.string()});
  }
}

}  // namespace penstock
