#include <algorithm>
#include <cctype>

#include <bench/report/table.hpp>

namespace penstock {
namespace {

bool is_number(const std::string& cell) {
  return cell.empty() || cell == "-" || std::isdigit(static_cast<unsigned char>(cell.front())) != 0;
}

}  // namespace

std::string Table::text(const std::string& indent) const {
  std::vector<std::size_t> widths(lines_.front().size());
  std::vector<bool> right(widths.size(), true);
  for (std::size_t line = 0; line < lines_.size(); ++line) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], lines_[line].at(i).size());
      if (line > 0 && !is_number(lines_[line][i])) right[i] = false;
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines_) {
    std::string row = indent;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string blanks(widths[i] - line[i].size(), ' ');
      row += (i ? "  " : "") + (right[i] ? blanks + line[i] : line[i] + blanks);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace penstock
