#include <algorithm>
#include <cmath>

#include <bench/measure/sampling.hpp>
#include <bench/measure/units.hpp>
#include <bench/report/html.hpp>

namespace penstock {
namespace {

// CSS class of a row's colour.
const char* colour(const SamplingRow& row) {
  if (row.stored == "as stored") return "busy";
  return row.stored == "presampled" ? "ready" : "in";
}

constexpr std::string_view kKey =
    "<p class=\"key\"><span style=\"background:var(--water)\"></span>from the clouds as they are stored"
    "<span style=\"background:var(--wait)\"></span>from clouds packed in progressive or stratified order"
    "<span style=\"background:var(--ink)\"></span>from clouds packed with only these points</p>";

std::string label(const SamplingRow& row) {
  return row.stored == "as stored" ? row.way : row.way + " (" + row.stored + ")";
}

std::string number(double value) {
  return fixed(value, 1);
}

/// Plots milliseconds on a logarithmic axis against the mean distance.
class Plot {
 public:
  explicit Plot(const std::vector<SamplingRow>& rows) {
    for (const SamplingRow& row : rows) {
      fastest_ = std::min(fastest_, row.ms_per_cloud.median);
      slowest_ = std::max(slowest_, row.ms_per_cloud.median);
      farthest_ = std::max(farthest_, row.coverage.mean);
    }
    fastest_ = std::floor(std::log10(std::max(fastest_, 1e-4)));
    slowest_ = std::max(std::ceil(std::log10(std::max(slowest_, 1e-4))), fastest_ + 1);
    farthest_ = std::max(farthest_ * 1.1, 1e-9);
  }

  std::string svg(const std::vector<SamplingRow>& rows) {
    std::string text = "<svg viewBox=\"0 0 920 470\" role=\"img\">" + grid();
    std::vector<const SamplingRow*> order;
    for (const SamplingRow& row : rows) order.push_back(&row);
    std::ranges::sort(order, {}, [](const SamplingRow* row) { return -row->coverage.mean; });  // labels downwards
    for (const SamplingRow* row : order) text += mark(*row);
    return text + "</svg>";
  }

 private:
  static constexpr double kLeft = 60, kRight = 900, kTop = 12, kBottom = 410, kLine = 15;

  double x(double log_ms) const { return kLeft + (log_ms - fastest_) / (slowest_ - fastest_) * (kRight - kLeft); }
  double y(double distance) const { return kBottom - distance / farthest_ * (kBottom - kTop); }

  std::string grid() const {
    std::string text;
    const auto line = [&](double x0, double y0, double x1, double y1) {
      text += "<path d=\"M" + number(x0) + " " + number(y0) + "L" + number(x1) + " " + number(y1) +
              "\" stroke=\"var(--line)\" fill=\"none\"/>";
    };
    const auto write = [&](double at, double line_at, const char* anchor, const std::string& words) {
      text += "<text x=\"" + number(at) + "\" y=\"" + number(line_at) + "\" text-anchor=\"" + anchor + "\">" + words +
              "</text>";
    };
    for (double power = fastest_; power <= slowest_; ++power) {
      line(x(power), kTop, x(power), kBottom);
      write(x(power), kBottom + 20, "middle", fixed(std::pow(10, power), static_cast<int>(std::max(0.0, -power))));
    }
    const double step = std::pow(10, std::floor(std::log10(farthest_ / 2)));
    for (double distance = 0; distance <= farthest_; distance += farthest_ / step > 6 ? 2 * step : step) {
      line(kLeft, y(distance), kRight, y(distance));
      write(kLeft - 8, y(distance) + 4, "end",
            fixed(distance, static_cast<int>(std::max(0.0, -std::log10(step) + 0.5))));
    }
    write((kLeft + kRight) / 2, kBottom + 48, "middle", "milliseconds a cloud, one worker");
    return text;
  }

  /// A dot with its name to the right or left, moved down to avoid names that are already there.
  std::string mark(const SamplingRow& row) {
    const double at_x = x(std::log10(std::max(row.ms_per_cloud.median, 1e-4))), at_y = y(row.coverage.mean);
    const std::string words = label(row);
    const double width = 7.2 * static_cast<double>(words.size());
    const bool left = at_x + 10 + width > kRight;
    Box box{left ? at_x - 10 - width : at_x + 10, at_y + 4, width};
    while (std::ranges::any_of(names_, [&](const Box& other) { return box.meets(other); })) box.y += 3;
    names_.push_back(box);
    return "<circle class=\"" + std::string(colour(row)) + "\" cx=\"" + number(at_x) + "\" cy=\"" + number(at_y) +
           "\" r=\"6\"/><text x=\"" + number(left ? at_x - 10 : at_x + 10) + "\" y=\"" + number(box.y) +
           "\" text-anchor=\"" + (left ? "end" : "start") + "\">" + html_escaped(words) + "</text>";
  }

  struct Box {
    double x, y, width;
    bool meets(const Box& other) const {
      return x < other.x + other.width && other.x < x + width && std::abs(y - other.y) < kLine;
    }
  };

  double fastest_ = 1e9, slowest_ = 0, farthest_ = 0;  // log10 of milliseconds; distance
  std::vector<Box> names_;
};

std::string table_section(const SamplingReport& report) {
  std::string html =
      "<section><h2>All ways</h2><table><tr><th>way</th><th>clouds</th><th>ms a cloud</th><th>quartiles</th>"
      "<th>read</th><th>mean distance</th><th>largest hole</th><th>chain</th></tr>\n";
  for (const SamplingRow& row : report.rows)
    html += "<tr>" + html_cell(row.way) + "<td class=\"word\">" + html_escaped(row.stored) + "</td>" +
            html_cell(fixed(row.ms_per_cloud.median, 3)) +
            html_cell(fixed(row.ms_per_cloud.low, 3) + " to " + fixed(row.ms_per_cloud.high, 3)) +
            html_cell(bytes_text(static_cast<std::uint64_t>(row.bytes_per_cloud))) +
            html_cell(fixed(row.coverage.mean, 4)) + html_cell(fixed(row.coverage.most, 3)) + "<td class=\"word\">" +
            html_escaped(row.chain) + "</td></tr>\n";
  html +=
      "</table><p>Distances are from every point of a cloud to the nearest sampled point, in the unit of the "
      "clouds.</p>";
  html += "<table><tr><th>packed</th><th>options of penstock pack</th><th>seconds</th><th>bytes</th></tr>\n";
  for (const SamplingPack& pack : report.packs)
    html += "<tr>" + html_cell(pack.name) + "<td class=\"word\">" + html_escaped(pack.options) + "</td>" +
            html_cell(fixed(pack.seconds, 1)) + html_cell(bytes_text(pack.bytes)) + "</tr>\n";
  return html + "</table></section>\n";
}

std::string read_section(const SamplingReport& report) {
  double most = 1;
  for (const SamplingRow& row : report.rows) most = std::max(most, row.bytes_per_cloud);
  std::string bars;
  std::size_t line = 0;
  for (const SamplingRow& row : report.rows)
    bars += html_bar(line++, label(row), {{row.bytes_per_cloud / most, colour(row)}},
                     bytes_text(static_cast<std::uint64_t>(row.bytes_per_cloud)));
  return "<section><h2>Read for each cloud</h2>" + html_chart(bars, line) + std::string(kKey) + "</section>\n";
}

/// Side views of the points of one cloud, all methods at the same scale.
std::string views_section(const SamplingReport& report) {
  std::array<double, 2> low = {1e300, 1e300}, high = {-1e300, -1e300};
  for (const SamplingRow& row : report.rows)
    for (const std::array<float, 2>& point : row.side_view)
      for (std::size_t axis = 0; axis < 2; ++axis) {
        low[axis] = std::min(low[axis], static_cast<double>(point[axis]));
        high[axis] = std::max(high[axis], static_cast<double>(point[axis]));
      }
  const double width = std::max({high[0] - low[0], high[1] - low[1], 1e-9}), scale = 980 / width;
  std::string html = "<section><h2>Sampled points of one cloud, seen from the side</h2><div class=\"views\">\n";
  for (const SamplingRow& row : report.rows) {
    html += "<figure><svg viewBox=\"0 0 1000 " + fixed((high[1] - low[1]) * scale + 20, 0) + "\"><path d=\"";
    for (const std::array<float, 2>& point : row.side_view)
      html += "M" + fixed((static_cast<double>(point[0]) - low[0]) * scale + 10, 0) + " " +
              fixed((high[1] - static_cast<double>(point[1])) * scale + 10, 0) + "h0";
    html += "\"/></svg><figcaption>" + html_escaped(label(row)) + "</figcaption></figure>\n";
  }
  return html + "</div></section>\n";
}

constexpr std::string_view kStyle =
    "<style>.ready { fill: var(--ink); } .views { display: grid; gap: 1rem; "
    "grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); } figure { margin: 0; } "
    "figure path { stroke: var(--water); stroke-width: 5; stroke-linecap: round; fill: none; } "
    "figcaption { color: var(--soft); text-align: center; }</style>\n";

}  // namespace

std::string to_html(const SamplingReport& report) {
  std::string html = html_head("penstock: sampling point clouds");
  html += kStyle;
  html += "<p>" + html_escaped(report.dataset.path) + ": " + with_commas(report.dataset.samples) + " clouds of about " +
          with_commas(static_cast<std::uint64_t>(report.points_per_cloud)) + " points, " +
          bytes_text(report.dataset.bytes) + ". " + with_commas(static_cast<std::uint64_t>(report.points)) +
          " points are sampled from each.</p>\n<section><h2>Mean distance from a point to the nearest sampled point, "
          "against "
          "time</h2>" +
          Plot(report.rows).svg(report.rows) + std::string(kKey) + "</section>\n";
  return html + read_section(report) + table_section(report) + views_section(report) +
         html_machine(report.machine, report.file_system) + html_end();
}

}  // namespace penstock
