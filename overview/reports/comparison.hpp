// Compares two runs, and finds the changes that exceed the noise.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace penstock::overview {

struct Figure {
  std::string name;
  std::string unit;                       ///< "s" is shown in s, ms or us
  double value = 0;                       ///< 0 to 1e18
  std::optional<double> plus_minus = {};  ///< half of the 95 % interval, in the same unit
};

struct FigureTable {
  std::string name;
  std::vector<Figure> figures;
  /// A comparison keeps the figures that changed most. A figure that one table lacks is 0.
  bool ranked = false;
};

struct Fact {
  std::string name, value;
  bool of_work = false;  ///< Runs that differ in it process different samples or batches.
};

/// The figures of one run.
struct Report {
  std::string path;
  std::vector<Fact> facts = {};
  std::vector<FigureTable> tables = {};
};

struct Change {
  std::string name, unit;
  std::optional<double> before, after;     ///< nothing: the report lacks the figure
  std::optional<double> noise;             ///< the roots of the summed squares of both plus_minus
  std::optional<double> relative() const;  ///< 0.5 for 1.5 times; nothing if a value is missing, or `before` is 0
  std::optional<bool> exceeds_noise() const;
};

struct ChangeTable {
  std::string name;
  std::vector<Change> changes;
  bool lacks_spread() const;  ///< Both reports have figures of the table, none with a spread.
};

struct Comparison {
  std::string before, after;       ///< paths
  std::vector<std::string> notes;  ///< Sentences: facts that differ.
  std::vector<ChangeTable> tables;
};

/// Compares the tables and facts that both reports have. Figures that are 0 in both are left out.
Comparison compare(const Report& before, const Report& after);

/// The cells of a row, for the screen and the page.
struct ChangeCells {
  std::string before, after, unit, change, noise;
};
ChangeCells cells_of(const Change& change);

/// The notes, and the tables. A line ends with "more than the noise, 1.2 ms" or "not more than the noise, 1.2 ms". The
/// line, or the head of its table, ends with "no spread recorded" if a report records none.
std::string to_text(const Comparison& comparison);

}  // namespace penstock::overview
