// Text, numbers and frames of the overview's HTML page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::overview::page {

std::string head(std::string_view title);  ///< everything up to the first section, with the title as heading
std::string end();

/// Escapes for text and for quoted attributes. Shows unprintable bytes as one_line() does.
std::string escaped(std::string_view text);
/// Cuts a text of more than `most` bytes in the middle, between two characters.
std::string shortened(std::string_view text, std::size_t most);
/// A name of any length on one line. CSS cuts it in the middle; focus, the title and print show all of it.
std::string name(std::string_view text);
/// Escapes a sentence, and sets its parts in backticks as code.
std::string sentence(std::string_view text);
std::string unbroken(std::string text);  ///< joins numbers and their units by no-break spaces

std::string paragraph(const std::string& html, std::string_view kind = "");
std::string section(std::string_view id, const std::string& heading, const std::string& content);  ///< escapes neither
std::string tile(std::string_view value, std::string_view label);
std::string tiles(const std::string& content);

struct Column {
  std::string_view heading;
  std::string_view kind = "";  ///< CSS class; by default the column is right-aligned
};

/// A table that scrolls by itself on a narrow screen. row() makes its rows.
std::string table(std::string_view label, const std::vector<Column>& columns, const std::string& rows,
                  std::string_view kind = "");
/// The first cell is the row's heading. Cells are HTML.
std::string row(const std::vector<Column>& columns, const std::vector<std::string>& cells, std::string_view kind = "");

// Numbers that are not finite read "-".
std::string number(double value, int digits);  ///< with commas
std::string share(double value);               ///< "12.3 %"; "-" unless finite
double ratio(double part, double whole);       ///< 0 if whole is 0
int digits_for(double largest);                ///< so that the largest number of a column has four digits
std::string milliseconds(double nanoseconds, int digits);
std::string milliseconds(double nanoseconds);  ///< "104 ms", "1.23 ms": at least three digits

}  // namespace penstock::overview::page
