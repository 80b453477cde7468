#include <algorithm>
#include <cmath>
#include <string_view>

#include <base/amounts.hpp>
#include <base/printable.hpp>
#include <overview/reports/comparison.hpp>

namespace penstock::overview {
namespace {

constexpr std::size_t kMostRanked = 8;
constexpr const char* kNoSpread = "no spread recorded";

template <typename List>
auto find_named(const List& list, const std::string& name) -> decltype(list.data()) {
  const auto found = std::ranges::find(list, name, [](const auto& entry) { return entry.name; });
  return found == list.end() ? nullptr : &*found;
}

double distance(const Change& change) {
  return std::abs(change.after.value_or(0) - change.before.value_or(0));
}

Change change_between(const Figure* before, const Figure* after, bool ranked) {
  const Figure& any = before != nullptr ? *before : *after;
  Change out{.name = any.name, .unit = any.unit, .before = {}, .after = {}, .noise = {}};
  if (before != nullptr) out.before = before->value;
  if (after != nullptr) out.after = after->value;
  if (ranked) out.before = out.before.value_or(0), out.after = out.after.value_or(0);
  if (before != nullptr && after != nullptr && before->plus_minus && after->plus_minus)
    out.noise = std::hypot(*before->plus_minus, *after->plus_minus);
  return out;
}

ChangeTable compare_tables(const FigureTable& before, const FigureTable& after) {
  ChangeTable out{.name = before.name, .changes = {}};
  for (const Figure& figure : before.figures)
    out.changes.push_back(change_between(&figure, find_named(after.figures, figure.name), before.ranked));
  for (const Figure& figure : after.figures) {
    if (find_named(before.figures, figure.name) == nullptr)
      out.changes.push_back(change_between(nullptr, &figure, before.ranked));
  }
  std::erase_if(out.changes,
                [](const Change& change) { return change.before.value_or(0) == 0 && change.after.value_or(0) == 0; });
  if (before.ranked) {
    std::ranges::stable_sort(out.changes, std::ranges::greater(), distance);
    out.changes.resize(std::min(out.changes.size(), kMostRanked));
  }
  return out;
}

/// "batch_size 32 before, 64 after; ...", or an empty text.
std::string differences(const Report& before, const Report& after, bool of_work) {
  std::string out;
  for (const Fact& fact : before.facts) {
    const Fact* const other = find_named(after.facts, fact.name);
    if (other == nullptr || fact.of_work != of_work || fact.value == other->value) continue;
    out += (out.empty() ? "" : "; ") + fact.name + " " + fact.value + " before, " + other->value + " after";
  }
  return out;
}

struct Scale {
  double factor;
  std::string unit;
};

Scale scale_of(const std::string& unit, double largest) {
  if (unit != "s" || largest >= 1) return {1, unit};
  return largest >= 1e-3 ? Scale{1e3, "ms"} : Scale{1e6, "us"};
}

/// Four digits of the largest value of a row.
int digits_of(double largest) {
  return largest >= 999.95 ? 0 : largest >= 99.995 ? 1 : largest >= 9.9995 ? 2 : 3;
}

std::string relative_text(double relative) {
  const double percent = 100 * relative;
  if (std::abs(percent) < 0.05) return "0.0 %";
  const double size = std::abs(percent);
  return text_of(size < 999.95 ? "%+.1f %%" : size < 1e6 ? "%+.0f %%" : "%+.3g %%", percent);
}

constexpr std::size_t kWidestName = 41;

/// A long name on one line, without its middle.
std::string shown(const std::string& name) {
  if (name.size() <= kWidestName) return one_line(name);
  constexpr std::size_t kPart = (kWidestName - 3) / 2;
  return one_line(name.substr(0, kPart)) + "..." + one_line(name.substr(name.size() - kPart));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

std::string line_of(const std::string& name, std::size_t width, const ChangeCells& cells) {
  const std::string line =
      padded(name, width) + text_of(" %10s %10s %-9s %9s  %s", cells.before.c_str(), cells.after.c_str(),
                                    cells.unit.c_str(), cells.change.c_str(), cells.noise.c_str());
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string table_text(const ChangeTable& table, std::size_t width, bool with_heads) {
  const bool lacks_spread = table.lacks_spread();
  ChangeCells heads;
  if (with_heads) heads = {"before", "after", "", "change", ""};
  if (lacks_spread) heads.noise = kNoSpread;
  std::string text = line_of(table.name, width, heads);
  for (const Change& change : table.changes) {
    ChangeCells cells = cells_of(change);
    if (lacks_spread && cells.noise == kNoSpread) cells.noise.clear();
    text += line_of("  " + shown(change.name), width, cells);
  }
  return text;
}

}  // namespace

std::optional<double> Change::relative() const {
  if (!before || !after || *before == 0) return std::nullopt;
  const double out = (*after - *before) / *before;
  return std::isfinite(out) ? std::optional(out) : std::nullopt;
}

std::optional<bool> Change::exceeds_noise() const {
  if (!before || !after || !noise) return std::nullopt;
  return distance(*this) > *noise;
}

bool ChangeTable::lacks_spread() const {
  const auto is_common = [](const Change& change) { return change.before && change.after; };
  const auto has_noise = [](const Change& change) { return change.noise.has_value(); };
  return std::ranges::any_of(changes, is_common) && std::ranges::none_of(changes, has_noise);
}

Comparison compare(const Report& before, const Report& after) {
  Comparison out{.before = before.path, .after = after.path, .notes = {}, .tables = {}};
  if (const std::string work = differences(before, after, true); !work.empty())
    out.notes.push_back("The two runs did different work: " + work + ".");
  if (const std::string rest = differences(before, after, false); !rest.empty())
    out.notes.push_back("Other differences: " + rest + ".");
  for (const FigureTable& table : before.tables) {
    const FigureTable* const other = find_named(after.tables, table.name);
    if (other == nullptr || (!table.ranked && (table.figures.empty() || other->figures.empty()))) continue;
    ChangeTable changes = compare_tables(table, *other);
    if (!changes.changes.empty()) out.tables.push_back(std::move(changes));
  }
  return out;
}

ChangeCells cells_of(const Change& change) {
  const double largest = std::max(change.before.value_or(0), change.after.value_or(0));
  const auto [factor, unit] = scale_of(change.unit, largest);
  const auto number = [&, factor = factor](double value) {
    return text_of("%.*f", digits_of(largest * factor), value * factor);
  };
  const auto cell = [&](const std::optional<double>& value) { return value ? number(*value) : "-"; };
  ChangeCells out{cell(change.before), cell(change.after), unit, "-", kNoSpread};
  if (const auto relative = change.relative()) out.change = relative_text(*relative);
  if (!change.before || !change.after) {
    out.noise = change.before ? "only before" : "only after";
  } else if (const auto exceeds = change.exceeds_noise()) {
    out.noise = std::string(*exceeds ? "more" : "not more") + " than the noise, " + number(*change.noise) +
                (unit.empty() ? "" : " " + unit);
  }
  return out;
}

std::string to_text(const Comparison& comparison) {
  std::string text;
  for (const std::string& note : comparison.notes) text += "Note: " + note + "\n";
  std::size_t width = 24;
  for (const ChangeTable& table : comparison.tables) {
    for (const Change& change : table.changes) width = std::max(width, 2 + shown(change.name).size());
  }
  for (const ChangeTable& table : comparison.tables)
    text += table_text(table, width, &table == &comparison.tables.front());
  return text;
}

}  // namespace penstock::overview
