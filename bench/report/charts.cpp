#include <algorithm>
#include <cmath>

#include <bench/measure/units.hpp>
#include <bench/report/charts.hpp>
#include <bench/report/html.hpp>

namespace penstock {
namespace {

constexpr const char* kStart = "start";
constexpr const char* kMiddle = "middle";
constexpr const char* kEnd = "end";

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* kind = "note") {
  return "<text class=\"" + std::string(kind) + "\" x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) +
         "\" text-anchor=\"" + anchor + "\">" + html_escaped(text) + "</text>";
}

std::string line_at(double x1, double y1, double x2, double y2, const char* kind) {
  return "<line class=\"" + std::string(kind) + "\" x1=\"" + fixed(x1, 1) + "\" y1=\"" + fixed(y1, 1) + "\" x2=\"" +
         fixed(x2, 1) + "\" y2=\"" + fixed(y2, 1) + "\"/>";
}

std::string point_text(double x, double y) {
  return fixed(x, 1) + "," + fixed(y, 1) + " ";
}

std::string svg(double width, double height, const std::string& label, const std::string& content) {
  return "<svg viewBox=\"0 0 " + fixed(width, 0) + " " + fixed(height, 0) + "\" role=\"img\" aria-label=\"" +
         html_escaped(label) + "\">" + content + "</svg>";
}

// Rounds up to 1, 2 or 5 times a power of ten.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0})
    if (value <= step * power * (1 + 1e-9)) return step * power;
  return 10 * power;
}

std::string short_number(double value) {
  if (value >= 1000) return with_commas(static_cast<std::uint64_t>(std::llround(value)));
  std::string text = fixed(value, value < 10 ? 2 : 1);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// ---- Timeline ------------------------------------------------------------------------------------------------------

struct Axis {
  std::vector<double> at;         // position of each moment, without the jumps
  std::vector<std::size_t> cuts;  // moments that follow a jump
};

// Removes jumps, which are far longer than the usual time between two looks.
Axis without_jumps(const std::vector<double>& seconds) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < seconds.size(); ++i) steps.push_back(seconds[i] - seconds[i - 1]);
  std::ranges::nth_element(steps, steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2));
  const double usual = std::max(steps[steps.size() / 2], 1e-6);
  Axis axis{.at = {0}, .cuts = {}};
  for (std::size_t i = 1; i < seconds.size(); ++i) {
    const double step = std::max(0.0, seconds[i] - seconds[i - 1]);
    const bool jump = step > 4 * usual;
    if (jump) axis.cuts.push_back(i);
    axis.at.push_back(axis.at.back() + (jump ? usual : step));
  }
  return axis;
}

// ---- Histogram -----------------------------------------------------------------------------------------------------

constexpr double kBinsToDoubling = 2;

struct Bins {
  int first = 0;
  std::vector<std::uint64_t> counts;
};

int bin_of(std::uint64_t value) {
  return static_cast<int>(
      std::floor(kBinsToDoubling * std::log2(static_cast<double>(std::max<std::uint64_t>(1, value))) + 1e-9));
}

Bins bins_of(const Distribution& values) {
  Bins bins;
  for (std::size_t bucket = 0; bucket < values.counts.size(); ++bucket) {
    if (values.counts[bucket] == 0) continue;
    const int bin = bin_of(Buckets::first(bucket));
    if (bins.counts.empty()) bins.first = bin;
    bins.counts.resize(std::max<std::size_t>(bins.counts.size(), static_cast<std::size_t>(bin - bins.first) + 1));
    bins.counts[static_cast<std::size_t>(bin - bins.first)] += values.counts[bucket];
  }
  return bins;
}

std::string quantity_text(double value, Quantity quantity) {
  return quantity == Quantity::time ? duration_text(value) : short_number(value);
}

// Label of a tick, which is a round number.
std::string tick_text(double value, Quantity quantity) {
  std::string text = quantity_text(value, quantity);
  if (const std::size_t zero = text.find(".0 "); zero != std::string::npos) text.erase(zero, 2);
  return text;
}

}  // namespace

std::string duration_text(double nanoseconds) {
  if (nanoseconds < 1e3) return fixed(nanoseconds, 0) + " ns";
  if (nanoseconds < 1e6) return fixed(nanoseconds / 1e3, nanoseconds < 1e4 ? 1 : 0) + " us";
  if (nanoseconds < 1e9) return fixed(nanoseconds / 1e6, nanoseconds < 1e8 ? 1 : 0) + " ms";
  return fixed(nanoseconds / 1e9, 1) + " s";
}

std::string html_timeline(const std::vector<double>& seconds, const std::vector<Strip>& strips) {
  if (seconds.size() < 2 || strips.empty()) return {};
  constexpr double kLeft = 190, kRight = 900, kHigh = 52, kApart = 70, kTop = 10;
  const Axis axis = without_jumps(seconds);
  const double end = std::max(axis.at.back(), 1e-9);
  const auto x = [&](std::size_t i) { return kLeft + axis.at[i] / end * (kRight - kLeft); };
  const double bottom = kTop + kApart * static_cast<double>(strips.size() - 1) + kHigh;
  std::string content;
  for (std::size_t number = 0; number < strips.size(); ++number) {
    const Strip& strip = strips[number];
    const double top = kTop + kApart * static_cast<double>(number), base = top + kHigh;
    const double most = std::max(1e-9, *std::ranges::max_element(strip.values));
    const auto y = [&](std::size_t i) { return base - std::max(0.0, strip.values[i]) / most * kHigh; };
    content += text_at(0, top + 22, kStart, strip.name, "label") + text_at(0, top + 40, kStart, "most " + strip.most) +
               line_at(kLeft, base, kRight, base, "axis");
    for (std::size_t from = 0, cut = 0; from < seconds.size(); ++cut) {
      const std::size_t until = cut < axis.cuts.size() ? axis.cuts[cut] : seconds.size();
      std::string points;
      for (std::size_t i = from; i < until; ++i) points += point_text(x(i), y(i));
      content += "<polygon class=\"area\" points=\"" + point_text(x(from), base) + points +
                 point_text(x(until - 1), base) + "\"/><polyline class=\"line\" points=\"" + points + "\"/>";
      from = until;
    }
  }
  for (const std::size_t cut : axis.cuts) {
    const double middle = (x(cut - 1) + x(cut)) / 2;
    content += line_at(middle, kTop, middle, bottom, "cut");
  }
  const double step = round_up(end / 6);
  for (double at = 0; at <= end * (1 + 1e-9); at += step) {
    const double place = kLeft + at / end * (kRight - kLeft);
    content += line_at(place, bottom, place, bottom + 4, "axis") +
               text_at(place, bottom + 18, kMiddle, short_number(at) + " s");
  }
  return svg(920, bottom + 26, "levels over time", content);
}

std::string html_histogram(const std::string& name, const Distribution& values, Quantity quantity) {
  if (values.count == 0) return {};
  constexpr double kLeft = 8, kRight = 452, kTop = 46, kBottom = 150;
  const Bins bins = bins_of(values);
  const double width = (kRight - kLeft) / static_cast<double>(bins.counts.size());
  const double most = static_cast<double>(*std::ranges::max_element(bins.counts));
  const auto x = [&](double value) {
    const double bin = kBinsToDoubling * std::log2(std::max(1.0, value)) - bins.first;
    return std::clamp(kLeft + bin * width, kLeft, kRight);
  };
  std::string content = text_at(0, 14, kStart, name, "label");
  std::string told = with_commas(values.count);
  for (const auto& [title, share] : {std::pair("p50", 0.5), std::pair("p90", 0.9), std::pair("p99", 0.99)})
    told += std::string(", ") + title + " " + quantity_text(static_cast<double>(values.quantile(share)), quantity);
  content += text_at(0, 32, kStart, told + ", max " + quantity_text(static_cast<double>(values.max), quantity));
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    if (bins.counts[i] == 0) continue;
    const double high = std::max(1.0, static_cast<double>(bins.counts[i]) / most * (kBottom - kTop));
    content += "<rect class=\"busy\" x=\"" + fixed(kLeft + static_cast<double>(i) * width + 0.5, 1) + "\" y=\"" +
               fixed(kBottom - high, 1) + "\" width=\"" + fixed(std::max(1.0, width - 1), 1) + "\" height=\"" +
               fixed(high, 1) + "\"/>";
  }
  for (const double share : {0.5, 0.99}) {
    const double at = x(static_cast<double>(values.quantile(share)));
    content += line_at(at, kTop, at, kBottom, "cut");
  }
  content += line_at(kLeft, kBottom, kRight, kBottom, "axis");
  // Ticks at powers of ten, and at 2 and 5 between them if there is room. Labels keep a minimum distance.
  const double low = std::pow(2, bins.first / kBinsToDoubling);
  const double high = low * std::pow(2, static_cast<double>(bins.counts.size()) / kBinsToDoubling);
  double free_from = 0;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
    for (const double step : {1.0, 2.0, 5.0}) {
      const double value = step * power, place = x(value);
      if (value < low || value > high || (step > 1 && high / low > 300) || place < free_from) continue;
      content += line_at(place, kBottom, place, kBottom + 4, "axis") +
                 text_at(std::clamp(place, 22.0, 438.0), kBottom + 18, kMiddle, tick_text(value, quantity));
      free_from = place + 58;
    }
  return svg(460, 174, name, content);
}

std::string html_plot(const std::vector<std::string>& places, const std::string& axis,
                      const std::vector<PlotLine>& lines) {
  constexpr double kLeft = 70, kRight = 890, kTop = 12, kBottom = 250;
  constexpr std::size_t kColours = 6;
  double most = 1e-9;
  for (const PlotLine& line : lines)
    for (const PlotLine::Point& point : line.points) most = std::max({most, point.value, point.high});
  const double step = round_up(most / 5), top = std::ceil(most / step - 1e-9) * step;
  const double apart = (kRight - kLeft) / static_cast<double>(places.size());
  const auto x = [&](std::size_t place) { return kLeft + (static_cast<double>(place) + 0.5) * apart; };
  const auto y = [&](double value) { return kBottom - value / top * (kBottom - kTop); };
  std::string content, key;
  for (double at = 0; at <= top * (1 + 1e-9); at += step)
    content += line_at(kLeft, y(at), kRight, y(at), "grid") + text_at(kLeft - 8, y(at) + 4, kEnd, short_number(at));
  for (std::size_t i = 0; i < places.size(); ++i) content += text_at(x(i), kBottom + 18, kMiddle, places[i]);
  content += text_at((kLeft + kRight) / 2, kBottom + 38, kMiddle, axis);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string colour = "c" + std::to_string(i % kColours) + (i >= kColours ? " dashed" : "");
    std::string points, marks;
    for (const PlotLine::Point& point : lines[i].points) {
      points += point_text(x(point.place), y(point.value));
      marks += line_at(x(point.place), y(point.low), x(point.place), y(point.high), "whisker") + "<circle cx=\"" +
               fixed(x(point.place), 1) + "\" cy=\"" + fixed(y(point.value), 1) + "\" r=\"3.5\"/>";
    }
    content += "<g class=\"" + colour + "\"><polyline points=\"" + points + "\"/>" + marks + "</g>";
    key += "<i><span class=\"" + colour + "\"></span>" + html_escaped(lines[i].name) + "</i> ";
  }
  return svg(920, kBottom + 46, axis, content) + "<p class=\"key\">" + key + "</p>";
}

}  // namespace penstock
