#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <base/amounts.hpp>
#include <base/printable.hpp>
#include <overview/overview.hpp>
#include <overview/page/charts.hpp>
#include <overview/page/definitions.hpp>
#include <overview/page/html.hpp>
#include <overview/page/rank.hpp>

namespace penstock::overview {
namespace {

using page::Column;
using page::escaped;
using page::milliseconds;
using page::rank_name;
using page::ratio;
using page::row;

// Limits that keep the page below 3 MB for any trace.
constexpr std::size_t kMostRanks = 256, kMostNotes = 50;
constexpr std::size_t kMostPath = 120, kMostRankName = 40;  // bytes

// ---- Diagnosis ------------------------------------------------------------------------------------------------------

std::string step_sentence(const RankOverview& rank) {
  const std::size_t steps = rank.steps.steps.size();
  if (steps == 0) return "The trace has no complete step.";
  const std::string time = "<b>" + milliseconds(rank.step()) + "</b>";
  const std::string shares = escaped(page::largest_shares(rank)) + ".";
  if (!rank.steps.marked) return "The trace takes " + time + shares;
  if (steps == 1) return "The only step takes " + time + shares;
  return "A step takes " + time + " on average (standard deviation " + milliseconds(rank.steps.standard_deviation()) +
         ", " + with_commas(steps) + " steps)" + shares;
}

/// Two runs often have files of the same name, in two folders.
std::string run_name(const Overview& overview, std::size_t run) {
  const RankOverview& rank = overview.ranks[run];
  const bool same = page::file_name(overview.ranks.front()) == page::file_name(overview.ranks.back());
  return same ? page::shortened(rank.path, kMostPath) : page::file_name(rank);
}

std::string change_sentence(const Overview& overview) {
  const auto& tables = overview.comparison->tables;
  if (tables.empty() || tables.front().name != "Step") return "The steps of both runs have no length.";
  const ChangeCells cells = cells_of(tables.front().changes.front());
  return "<b>" + cells.change + "</b> per step from " + escaped(run_name(overview, 0)) + ": " + cells.noise + ".";
}

std::string remedies_html(const std::vector<std::string>& remedies) {
  if (remedies.size() == 1) return page::sentence(remedies.front());
  std::string items;
  for (const std::string& remedy : remedies) items += "<li>" + page::sentence(remedy) + "</li>";
  return "<ul>" + items + "</ul>";
}

std::string diagnosis_section(const Overview& overview, const RankOverview& rank) {
  const Diagnosis& found = overview.diagnosis;
  std::string content = page::paragraph(page::unbroken(step_sentence(rank)), "lead") + "<dl>";
  const auto add = [&](const char* label, const std::string& html) {
    content += "<dt>" + std::string(label) + ":</dt><dd>" + html + "</dd>\n";
  };
  if (overview.comparison) add("Change", page::unbroken(change_sentence(overview)));
  if (!found.why.empty()) add("Why", page::sentence(found.why));
  if (!found.not_the_cause.empty()) add("Not the cause", page::sentence(found.not_the_cause));
  if (!found.remedies.empty()) add("Do", remedies_html(found.remedies));
  return "<section class=\"verdict" + std::string(found.cause == Cause::none ? " computes" : "") +
         "\" aria-label=\"Diagnosis\">" + content + "</dl></section>\n";
}

std::string notes_section(const Overview& overview) {
  const auto origin_of = [&](std::size_t rank) {
    return !overview.comparison ? rank_name(overview.ranks[rank]) : rank == 0 ? "before" : "after";
  };
  std::string items;
  std::size_t notes = 0;
  for (std::size_t number = 0; number < overview.ranks.size(); ++number) {
    for (const std::string& note : overview.ranks[number].notes) {
      if (++notes > kMostNotes) continue;
      const std::string of = overview.ranks.size() > 1 ? "<b>" + escaped(origin_of(number)) + ":</b> " : "";
      items += "<li>" + of + page::sentence(note) + "</li>\n";
    }
  }
  if (notes > kMostNotes) items += "<li>" + page::count(notes - kMostNotes, "further note") + ".</li>\n";
  return items.empty() ? ""
                       : "<section class=\"notes\"><h2>Notes on the " +
                             std::string(overview.ranks.size() > 1 ? "traces" : "trace") + "</h2><ul>\n" + items +
                             "</ul></section>\n";
}

// ---- Two runs -------------------------------------------------------------------------------------------------------

std::string runs_table(const Overview& overview, int digits) {
  const std::vector<Column> columns{{"Run"}, {"Step"}, {"Categories", "wide"}};
  const double longest = std::max(overview.ranks.front().step(), overview.ranks.back().step());
  std::string rows;
  for (std::size_t i = 0; i < overview.ranks.size(); ++i) {
    const RankOverview& rank = overview.ranks[i];
    const std::string place = i == 0 ? "before" : "after";
    rows += row(columns, {"<span title=\"" + escaped(run_name(overview, i)) + "\">" + place + "</span>",
                          milliseconds(rank.step(), digits),
                          page::stacked_bar(page::category_parts(rank.mean, longest),
                                            "Step " + place + page::largest_shares(rank))});
  }
  return page::table("Steps of the two runs", columns, rows);
}

/// A name with the colour of its category, if it is one.
std::string change_name(const Change& change) {
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    if (change.name == name(category)) return page::swatch(page::kind_of(category)) + escaped(change.name);
  }
  return page::name(change.name);
}

std::string changes_table(const ChangeTable& table) {
  const std::vector<Column> columns{{table.name, "names"},    {"Before"}, {"After"}, {"Change"}, {"Noise"},
                                    {"Less or more", "chart"}};
  std::map<std::string, double> most;  // by unit
  const auto difference = [](const Change& change) { return change.after.value_or(0) - change.before.value_or(0); };
  for (const Change& change : table.changes)
    most[change.unit] = std::max(most[change.unit], std::abs(difference(change)));
  std::string rows;
  for (const Change& change : table.changes) {
    const ChangeCells cells = cells_of(change);
    const std::string unit = cells.unit.empty() ? "" : " " + cells.unit;
    rows += row(columns, {change_name(change), cells.before + unit, cells.after + unit, cells.change, cells.noise,
                          page::change_bar(ratio(difference(change), most[change.unit]), cells.change)});
  }
  return page::table(table.name + ": changes", columns, rows);
}

std::string comparison_section(const Overview& overview) {
  if (!overview.comparison) return {};
  std::string content;
  if (overview.ranks.size() == 2) {
    CategoryTimes sums;
    for (const RankOverview& rank : overview.ranks) {
      for (std::size_t i = 0; i < kCategories; ++i) sums.of[i] += rank.mean.of[i];
    }
    const double longest = std::max(overview.ranks.front().step(), overview.ranks.back().step());
    content = page::category_legend(sums) + runs_table(overview, page::digits_for(longest / 1e6));
  }
  for (const ChangeTable& table : overview.comparison->tables)
    content += "<h3>" + escaped(table.name) + "</h3>\n" + changes_table(table);
  return page::section("comparison", "Comparison of the two runs", content);
}

// ---- Ranks ----------------------------------------------------------------------------------------------------------

/// Returns the positions of the ranks to show, in their order.
std::vector<std::size_t> shown_ranks(const Overview& overview) {
  std::vector<std::size_t> shown(overview.ranks.size());
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = i;
  if (shown.size() <= kMostRanks) return shown;
  std::ranges::stable_sort(shown, std::ranges::greater(),
                           [&](std::size_t rank) { return overview.ranks[rank].own_time(); });
  shown.resize(kMostRanks);
  std::ranges::sort(shown);
  return shown;
}

std::string ranks_section(const Overview& overview) {
  if (overview.ranks.size() < 2 || overview.comparison) return {};
  const std::vector<Column> columns{{"Rank"}, {"Step"}, {"Without communication"}, {"Categories", "wide"}};
  double longest = 0;
  CategoryTimes sums;
  for (const RankOverview& rank : overview.ranks) {
    longest = std::max(longest, rank.step());
    for (std::size_t i = 0; i < kCategories; ++i) sums.of[i] += rank.mean.of[i];
  }
  const int digits = page::digits_for(longest / 1e6);
  const std::vector<std::size_t> shown = shown_ranks(overview);
  std::string rows;
  for (const std::size_t number : shown) {
    const RankOverview& rank = overview.ranks[number];
    const bool slowest = number == overview.slowest;
    rows += row(columns,
                {"<span title=\"" + escaped(page::file_name(rank)) + "\">" +
                     escaped(page::shortened(rank_name(rank), kMostRankName)) + "</span>" +
                     (slowest ? "<span class=\"badge\">slowest</span>" : ""),
                 milliseconds(rank.step(), digits), milliseconds(rank.own_time(), digits),
                 page::stacked_bar(page::category_parts(rank.mean, longest),
                                   "Step of " + rank_name(rank) + page::largest_shares(rank))},
                slowest ? "slowest" : "");
  }
  std::string content =
      page::paragraph("Without communication, the step of " + escaped(rank_name(overview.ranks[overview.slowest])) +
                          " takes " + page::share(overview.spread) + " longer than that of the fastest rank.",
                      "plain");
  if (shown.size() < overview.ranks.size())
    content += page::paragraph("The slowest " + with_commas(shown.size()) + " of " +
                               with_commas(overview.ranks.size()) + " ranks.");
  return page::section("ranks", "Ranks", content + page::category_legend(sums) + page::table("Ranks", columns, rows));
}

std::string page_title(const Overview& overview) {
  if (overview.comparison) return "Overview of two runs";
  if (overview.ranks.size() == 1) return "Overview of " + page::file_name(overview.ranks.front());
  const bool all = std::ranges::all_of(overview.ranks, [](const RankOverview& rank) { return rank.rank.has_value(); });
  return "Overview of " + with_commas(overview.ranks.size()) + (all ? " ranks" : " traces");
}

std::string origin(const Overview& overview, const RankOverview& rank) {
  if (overview.comparison)
    return page::paragraph("Before: " + escaped(run_name(overview, 0)) +
                           " \u00b7 After: " + escaped(run_name(overview, overview.slowest))) +
           page::paragraph("All sections except \u201cComparison\u201d are about the second run.");
  if (overview.ranks.size() > 1)
    return page::paragraph("All sections except \u201cRanks\u201d are about " + escaped(rank_name(rank)) +
                           ", the slowest. <a href=\"#ranks\">Compare the ranks</a>");
  return page::paragraph(escaped(page::shortened(rank.path, kMostPath)) + " \u00b7 " +
                         page::count(rank.events, "event") + " \u00b7 " +
                         decimal_bytes_text(static_cast<double>(rank.bytes)) + " of text");
}

/// Ends the headings of the sections about one rank.
std::string heading_end(const Overview& overview, const RankOverview& rank) {
  if (overview.ranks.size() < 2) return {};
  return " <small>" + (overview.comparison ? "after" : escaped(rank_name(rank))) + "</small>";
}

/// The page of two reports.
std::string reports_page(const Comparison& found) {
  std::string notes;
  for (const std::string& note : found.notes) notes += "<li>" + page::sentence(note) + "</li>\n";
  return page::head("Comparison of two reports") +
         page::paragraph("Before: " + escaped(page::shortened(found.before, kMostPath)) +
                         " \u00b7 After: " + escaped(page::shortened(found.after, kMostPath))) +
         (notes.empty() ? "" : "<section class=\"notes\"><h2>Notes</h2><ul>\n" + notes + "</ul></section>\n");
}

}  // namespace

std::string to_html(const Overview& overview) {
  if (overview.ranks.empty() && overview.comparison)
    return reports_page(*overview.comparison) + comparison_section(overview) + page::end();
  if (overview.slowest >= overview.ranks.size())
    return page::head("Overview") + page::paragraph("There is no trace.") + page::end();
  const RankOverview& rank = overview.ranks[overview.slowest];
  return page::head(page_title(overview)) + origin(overview, rank) + diagnosis_section(overview, rank) +
         notes_section(overview) + comparison_section(overview) +
         page::rank_sections(rank, heading_end(overview, rank)) + ranks_section(overview) + page::definitions() +
         page::end();
}

}  // namespace penstock::overview
