#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <formats/places/places.hpp>
#include <formats/text/point_table.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLooksAt = std::uint64_t{64} << 10;
constexpr std::string_view kBlanks = " \t";
using Axes = std::array<std::size_t, 3>;

std::string_view trimmed(std::string_view cell, std::string_view what) {
  const std::size_t begin = std::min(cell.find_first_not_of(what), cell.size());
  cell.remove_prefix(begin);
  return cell.substr(0, cell.find_last_not_of(what) + 1);
}

bool is_number(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  return failure != std::errc::invalid_argument && end == word.data() + word.size();
}

std::vector<std::string_view> parted(std::string_view line, std::string_view separators) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t end = line.find_first_of(separators);
    cells.push_back(trimmed(line.substr(0, end), " \t\""));
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(end + 1);
  }
}

// Commas and semicolons separate cells, which may be empty. Blanks separate numbers.
bool holds_numbers(std::string_view line, const Axes& axes) {
  const auto numbers_in = [&](const std::vector<std::string_view>& cells) {
    return std::ranges::all_of(
        axes, [&](std::size_t axis) { return axis < cells.size() && (cells[axis].empty() || is_number(cells[axis])); });
  };
  if (line.find_first_of(",;") != std::string_view::npos && numbers_in(parted(line, ",;"))) return true;
  std::vector<std::string_view> words = parted(line, " \t,;");
  std::erase_if(words, [](std::string_view word) { return word.empty(); });
  return numbers_in(words);
}

std::optional<Axes> axes_among(std::string_view line) {
  line = trimmed(line, "#/ \t");
  const std::vector<std::string_view> names =
      parted(line, line.find_first_of(",;") == std::string_view::npos ? kBlanks : std::string_view(",;"));
  Axes axes{};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const auto found = std::ranges::find_if(
        names, [&](std::string_view name) { return name.size() == 1 && (name[0] | 0x20) == "xyz"[axis]; });
    if (found == names.end()) return std::nullopt;
    axes[axis] = static_cast<std::size_t>(found - names.begin());
  }
  return axes;
}

}  // namespace

bool is_table(const FieldSchema& schema) {
  return schema.codec == "xyz" && (schema.name == "csv" || schema.name.ends_with(".csv"));
}

bool can_be_points(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t last = text.find_last_of("\r\n");
  if (last != std::string_view::npos) text = text.substr(0, last + 1);
  std::optional<Axes> named;
  bool first = true, names_alone = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = trimmed(text.substr(0, end), kBlanks);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool comment = line.starts_with('#') || line.starts_with("//");
    if (comment && first) named = axes_among(line);
    if (line.empty() || comment) continue;
    const std::string_view word = parted(line, " \t,;").front();
    const bool count = first && is_number(line);  // the first line of .pts files
    if (first && !is_number(word) && !word.empty()) {
      named = axes_among(line);
      names_alone = true;
    } else if (!count) {
      if (!holds_numbers(line, named.value_or(Axes{0, 1, 2}))) return false;
      names_alone = false;
    }
    first = false;
  }
  return !names_alone || named.has_value();
}

bool can_be_points(const std::filesystem::path& file, const Extent& value) try {
  std::string text(std::min(value.length, kLooksAt), '\0');
  text.resize(open_byte_source(file)->read(value.offset, std::as_writable_bytes(std::span(text))));
  return can_be_points(text);
} catch (const Error&) {
  return true;
}

}  // namespace penstock
