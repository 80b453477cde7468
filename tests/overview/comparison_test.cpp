// The changes between two runs: noise, figures that one run lacks, and the text.
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <overview/reports/comparison.hpp>

namespace penstock::test::comparison_test {
namespace {

using doctest::Approx;
using overview::Change;
using overview::Comparison;
using overview::Fact;
using overview::Figure;
using overview::FigureTable;
using overview::Report;

Report report(std::vector<Figure> figures, std::vector<Fact> facts = {}, bool ranked = false) {
  return {.path = "", .facts = std::move(facts), .tables = {{"Step", std::move(figures), ranked}}};
}

/// The changes of the only table.
std::vector<Change> changes(const Report& before, const Report& after) {
  Comparison found = compare(before, after);
  REQUIRE(found.tables.size() == 1);
  return found.tables[0].changes;
}

Change change(double before, double after, std::optional<double> noise = {}) {
  return {.name = "step", .unit = "s", .before = before, .after = after, .noise = noise};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the noise is the root of the summed squares of both spreads") {
  const auto found = changes(report({{"step", "s", 1.0, 0.3}}), report({{"step", "s", 0.4, 0.4}}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].noise.value() == Approx(0.5));
  CHECK(found[0].relative().value() == Approx(-0.6));
  CHECK(found[0].exceeds_noise() == true);
  CHECK(change(1, 1.49, 0.5).exceeds_noise() == false);
  CHECK(change(1, 0.49, 0.5).exceeds_noise() == true);
}

TEST_CASE("one spread alone gives no noise") {
  const auto found = changes(report({{"step", "s", 1.0, 0.3}}), report({{"step", "s", 0.4}}));
  CHECK_FALSE(found[0].noise);
  CHECK_FALSE(found[0].exceeds_noise());
  CHECK(cells_of(found[0]).noise == "no spread recorded");
}

TEST_CASE("a change from zero has no percentage, and no number overflows") {
  CHECK_FALSE(change(0, 1).relative());
  CHECK(cells_of(change(0, 1)).change == "-");
  CHECK(cells_of(change(1e-300, 1e18)).change == "-");
  CHECK(cells_of(change(1, 1)).change == "0.0 %");
  CHECK(cells_of(change(1, 0.9999)).change == "0.0 %");
  CHECK(cells_of(change(1, 0)).change == "-100.0 %");
  CHECK(cells_of(change(1, 40)).change == "+3900 %");
}

TEST_CASE("both times of a row have the unit of the longer one") {
  const auto cells = cells_of(change(1.5, 0.02, 0.004));
  CHECK(cells.before == "1.500");
  CHECK(cells.after == "0.020");
  CHECK(cells.unit == "s");
  CHECK(cells.noise == "more than the noise, 0.004 s");
  CHECK(cells_of(change(0.0123, 0.0012)).before == "12.30");
  CHECK(cells_of(change(0.0123, 0.0012)).unit == "ms");
  CHECK(cells_of(change(1e-6, 2e-6)).unit == "us");
}

TEST_CASE("a figure that one report lacks is shown as such, and zeros are left out") {
  const auto found = changes(report({{"a", "s", 1}, {"both", "s", 1}, {"zero", "s", 0}}),
                             report({{"both", "s", 2}, {"b", "s", 1}, {"zero", "s", 0}}));
  REQUIRE(found.size() == 3);
  CHECK(cells_of(found[0]).noise == "only before");
  CHECK(found[1].name == "both");
  CHECK(cells_of(found[2]).noise == "only after");
  CHECK(cells_of(found[2]).before == "-");
}

TEST_CASE("a table that one report lacks is left out") {
  CHECK(compare(report({{"step", "s", 1}}), report({})).tables.empty());
  CHECK(compare(report({}), report({{"step", "s", 1}})).tables.empty());
}

TEST_CASE("of a ranked table, the figures that changed most are kept, and absent ones are zero") {
  std::vector<Figure> figures{{"gone", "s", 5}};
  for (int i = 0; i < 20; ++i) figures.push_back({std::to_string(i), "s", 1.0 + i});
  auto later = figures;
  later.erase(later.begin());
  later[3].value += 7;
  const auto found = changes(report(figures, {}, true), report(later, {}, true));
  REQUIRE(found.size() == 8);
  CHECK(found[0].name == "3");
  CHECK(found[1].name == "gone");
  CHECK(found[1].after == 0);
}

TEST_CASE("facts that differ are notes, and different work comes first") {
  const std::vector<Fact> before{{"cores", "2"}, {"batch_size", "4", true}, {"python", "3.9"}, {"only", "x"}};
  const std::vector<Fact> after{{"cores", "8"}, {"batch_size", "8", true}, {"python", "3.9"}};
  const auto notes = compare(report({}, before), report({}, after)).notes;
  REQUIRE(notes.size() == 2);
  CHECK(notes[0] == "The two runs did different work: batch_size 4 before, 8 after.");
  CHECK(notes[1] == "Other differences: cores 2 before, 8 after.");
  CHECK(compare(report({}, before), report({}, before)).notes.empty());
}

TEST_CASE("the text states the noise for each line, or its absence for the table") {
  Report before = report({{"step", "s", 0.1, 0.001}, {"rate", "samples/s", 40}});
  before.tables.push_back({"Categories", {{"load", "s", 0.05}, {"a name\nof two lines", "s", 1}}});
  Report after = before;
  after.tables[0].figures[0].value = 0.2;
  const std::string text = to_text(compare(before, after));
  CHECK(
      contains(text, "\n  step                        100.0      200.0 ms         +100.0 %  more than the noise, 1.4"));
  CHECK(contains(text, "0.0 %  no spread recorded\nCategories "));
  CHECK(contains(text, "  no spread recorded\n  load "));
  CHECK(contains(text, "50.00 ms            0.0 %\n  a name\\x0aof two lines "));
}

}  // namespace penstock::test::comparison_test
