#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <formats/rows/forms.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Reads the records of a CSV text. Source: RFC 4180, with any separator and either line ending.
class Csv {
 public:
  Csv(std::string_view text, char separator) : text_(text), separator_(separator) {}

  /// Returns the next record that is not an empty line.
  std::optional<std::vector<TableCell>> next() {
    while (at_ < text_.size()) {
      line_ += static_cast<std::uint64_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                                     text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
      counted_ = at_;
      std::vector<TableCell> cells = read_record();
      if (cells.size() > 1 || cells[0].kind != TableCell::Kind::empty) return cells;
    }
    return std::nullopt;
  }

  std::string place() const { return "line " + std::to_string(line_); }  // where the record begins

 private:
  std::vector<TableCell> read_record() {
    std::vector<TableCell> cells;
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

  TableCell read_cell() {
    if (at_ == text_.size() || text_[at_] != '"') {
      std::size_t end = at_;
      while (end < text_.size() && text_[end] != separator_ && text_[end] != '\n' && text_[end] != '\r') ++end;
      std::string cell(without_blanks(text_.substr(at_, end - at_)));
      at_ = end;
      return {.kind = cell.empty() ? TableCell::Kind::empty : TableCell::Kind::plain, .text = std::move(cell)};
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
        if (!ends) throw Error::corrupt(place() + ": text after a closing quote");
        return {.kind = TableCell::Kind::plain, .text = std::move(cell)};
      }
    }
    throw Error::corrupt(place() + ": a quote is not closed");
  }

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0, counted_ = 0;
  std::uint64_t line_ = 1;
};

}  // namespace

RowTable csv_table(std::string_view text) {
  const std::string_view first_line = text.substr(0, text.find('\n'));
  const char separator = first_line.find('\t') != std::string_view::npos  ? '\t'
                         : first_line.find(',') != std::string_view::npos ? ','
                                                                          : ';';
  Csv csv(text, separator);
  auto header = csv.next();
  if (!header) throw Error::corrupt("has no header row");
  RowTable table;
  for (TableCell& cell : *header) table.columns.push_back(std::move(cell.text));
  while (auto cells = csv.next()) {
    if (cells->size() != table.columns.size()) {
      throw Error::corrupt(csv.place() + " has " + std::to_string(cells->size()) + " columns, the header has " +
                           std::to_string(table.columns.size()));
    }
    table.rows.push_back({.place = csv.place(), .cells = std::move(*cells)});
  }
  return table;
}

}  // namespace penstock
