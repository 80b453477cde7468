// Charts of the overview's HTML page. Coordinates across are percentages, so that a chart fits a phone and its text
// keeps its size.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <overview/steps.hpp>

namespace penstock::overview::page {

/// Part of a bar. `kind` is a CSS class: k0 to k7 are the colours of the categories.
struct Part {
  double share = 0;  ///< of the bar's full width
  std::string kind;
  std::string title;  ///< a tooltip
};

enum class BarSize { row, large };

/// A bar whose parts share the width. A large one prints the shares of its parts, if there is room.
std::string stacked_bar(const std::vector<Part>& parts, const std::string& label, BarSize size = BarSize::row);
/// A bar for one share, and its value. Missing values read "not in this trace".
std::string meter(const std::string& label, const std::optional<double>& share);
/// A bar to the left of the middle for a share from -1 to 0, to the right for one from 0 to 1.
std::string change_bar(double share, const std::string& label);
/// Entries are CSS classes and names.
std::string legend(const std::vector<std::pair<std::string, std::string>>& entries);
std::string swatch(const std::string& kind);

std::string kind_of(Category category);
/// The categories' parts of a bar whose full width is `whole` nanoseconds.
std::vector<Part> category_parts(const CategoryTimes& times, double whole);
/// A legend of the categories that have a time.
std::string category_legend(const CategoryTimes& times);

/// A stacked bar for each step, or for several neighbours if there are more than 200, and sentences about it.
std::string step_chart(const std::vector<Step>& steps, double mean_step);

}  // namespace penstock::overview::page
