#include <algorithm>
#include <cmath>
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

std::string change_text(double nanoseconds, int digits) {
  const double rounded = std::round(nanoseconds / 1e6 * std::pow(10, digits));
  return rounded == 0 ? milliseconds(0, digits) : (rounded > 0 ? "+" : "") + milliseconds(nanoseconds, digits);
}

std::string change_sentence(const Overview& overview) {
  const Comparison& found = *overview.comparison;
  const double before = overview.ranks.front().step();
  const int digits = page::digits_for(before / 1e6);
  std::string out = "<b>" + change_text(found.change, digits) + "</b> per step";
  if (before > 0) out += text_of(" (%+.1f %%)", 100 * ratio(found.change, before));
  out += " from " + escaped(run_name(overview, 0)) + ". ";
  const auto single = [](const RankOverview& rank) { return rank.steps.steps.size() < 2; };
  if (std::ranges::any_of(overview.ranks, single))
    return out + "The noise is not known, because a run has a single step.";
  return out + "The change is " + (found.clear() ? "larger" : "not larger") + " than the noise of the steps, " +
         milliseconds(found.noise, digits) + ".";
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

/// A quantity of both runs, in nanoseconds per step.
struct Change {
  std::string name;  // HTML
  double before, after;
};

std::string changes_table(const Column& what, const std::vector<Change>& changes, int digits) {
  const std::vector<Column> columns{what, {"Before"}, {"After"}, {"Change"}, {"Less or more", "chart"}};
  double most = 0;
  for (const Change& change : changes) most = std::max(most, std::abs(change.after - change.before));
  std::string rows;
  for (const auto& [name, before, after] : changes) {
    const std::string text = change_text(after - before, digits);
    rows +=
        row(columns, {name, milliseconds(before, digits), milliseconds(after, digits), text,
                      page::change_bar(std::copysign(ratio(std::abs(after - before), most), after - before), text)});
  }
  return page::table(std::string(what.heading) + ": changes per step", columns, rows);
}

std::string comparison_section(const Overview& overview) {
  if (!overview.comparison || overview.ranks.size() != 2) return {};
  const RankOverview &before = overview.ranks.front(), &after = overview.ranks.back();
  const int digits = page::digits_for(std::max(before.step(), after.step()) / 1e6);
  std::vector<Change> categories, operators;
  CategoryTimes sums;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    sums.of[i] = before.mean[category] + after.mean[category];
    if (sums.of[i] > 0)
      categories.push_back({page::swatch(page::kind_of(category)) + escaped(name(category)), before.mean[category],
                            after.mean[category]});
  }
  for (const Comparison::Operator& op : overview.comparison->operators)
    operators.push_back({page::name(op.name), op.before, op.after});
  std::string content = page::category_legend(sums) + runs_table(overview, digits) + "<h3>Categories</h3>\n" +
                        changes_table({"Category"}, categories, digits);
  if (!operators.empty())
    content += "<h3>Operators that changed most</h3>\n" + changes_table({"Operator", "names"}, operators, digits) +
               page::paragraph("Self time on the host and on the device, per step.");
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

}  // namespace

std::string to_html(const Overview& overview) {
  if (overview.slowest >= overview.ranks.size())
    return page::head("Overview") + page::paragraph("There is no trace.") + page::end();
  const RankOverview& rank = overview.ranks[overview.slowest];
  return page::head(page_title(overview)) + origin(overview, rank) + diagnosis_section(overview, rank) +
         notes_section(overview) + comparison_section(overview) +
         page::rank_sections(rank, heading_end(overview, rank)) + ranks_section(overview) + page::definitions() +
         page::end();
}

}  // namespace penstock::overview
