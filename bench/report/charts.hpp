// Draws charts of a report as inline SVG, in the colours of its page.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <penstock/stats.hpp>

namespace penstock {

/// A strip of a timeline.
struct Strip {
  std::string name;
  std::vector<double> values;  ///< one per moment
  std::string most;            ///< the largest value, formatted
};

/// Strips above each other, on one time axis. `seconds` must increase. At a jump, where nothing was observed, the
/// strips are cut and the axis is shortened. Empty for fewer than two moments.
std::string html_timeline(const std::vector<double>& seconds, const std::vector<Strip>& strips);

enum class Quantity : std::uint8_t { time, count };

/// A histogram on a logarithmic axis, with p50 and p99. Times are in nanoseconds. Empty if there are no values.
std::string html_histogram(const std::string& name, const Distribution& values, Quantity quantity);

/// A line of a plot: places on the axis, and their values with quartiles.
struct PlotLine {
  struct Point {
    std::size_t place;
    double value, low, high;
  };
  std::string name;
  std::vector<Point> points;
};

/// Lines over named places, with values from 0 on and a legend below.
std::string html_plot(const std::vector<std::string>& places, const std::string& axis,
                      const std::vector<PlotLine>& lines);

std::string duration_text(double nanoseconds);  ///< "350 ns", "3.2 ms", "1.5 s"

}  // namespace penstock
