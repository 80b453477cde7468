// Formats text in columns.
#pragma once

#include <string>
#include <vector>

namespace penstock {

/// Rows of cells under a line of headings. Numbers are aligned right, words left.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : lines_{std::move(headings)} {}
  void add(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }
  std::string text(const std::string& indent = "") const;

 private:
  std::vector<std::vector<std::string>> lines_;
};

}  // namespace penstock
