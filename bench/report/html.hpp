// Makes the parts of a report's HTML page, which is one file without external references.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <base/machine.hpp>

namespace penstock {

std::string html_head(std::string_view title);  ///< everything up to the first section, with the title as heading
std::string html_end();
std::string html_machine(const Machine& machine, const std::string& file_system);  ///< a section

std::string html_escaped(std::string_view text);
std::string html_cell(const std::string& text);  ///< for a table

/// Part of a bar: its share of the full width, and a CSS class for its colour (busy, in, out).
struct HtmlPart {
  double share;
  const char* kind;
};

/// A line of a bar chart: a name, a bar whose parts share the width, and a value.
std::string html_bar(std::size_t line, const std::string& label, const std::vector<HtmlPart>& parts,
                     const std::string& value);
std::string html_chart(const std::string& bars, std::size_t lines);

}  // namespace penstock
