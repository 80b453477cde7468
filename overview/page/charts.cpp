#include <algorithm>
#include <cmath>

#include <base/amounts.hpp>
#include <overview/page/charts.hpp>
#include <overview/page/html.hpp>

namespace penstock::overview::page {
namespace {

std::string percent_of_width(double share) {
  return text_of("%.2f%%", 100 * share);
}

std::string titled(const std::string& title) {
  return title.empty() ? "" : "<title>" + escaped(title) + "</title>";
}

// ---- Bars of steps --------------------------------------------------------------------------------------------------

struct StepBar {
  std::string first, last;  // names of steps
  std::size_t steps = 0;
  CategoryTimes times;  // mean
  double length = 0;

  std::string title() const { return steps == 1 ? "Step " + first : "Steps " + first + " to " + last + ", mean"; }
};

std::size_t steps_per_bar(std::size_t steps) {
  constexpr std::size_t kMostBars = 200;
  return std::max<std::size_t>((steps + kMostBars - 1) / kMostBars, 1);
}

std::vector<StepBar> step_bars(const std::vector<Step>& steps) {
  constexpr std::size_t kName = 16;
  constexpr double kLongest = 1e19;  // nanoseconds; more than a trace's clock has
  const std::size_t each = steps_per_bar(steps.size());
  std::vector<StepBar> bars;
  for (std::size_t begin = 0; begin < steps.size(); begin += each) {
    const std::size_t end = std::min(begin + each, steps.size());
    StepBar bar{.first = shortened(steps[begin].name, kName),
                .last = shortened(steps[end - 1].name, kName),
                .steps = end - begin,
                .times = {}};
    for (std::size_t step = begin; step < end; ++step) {
      for (std::size_t i = 0; i < kCategories; ++i)
        bar.times.of[i] +=
            std::clamp(ratio(steps[step].times.of[i], 1), 0.0, kLongest) / static_cast<double>(bar.steps);
    }
    bar.length = bar.times.sum();
    bars.push_back(std::move(bar));
  }
  return bars;
}

/// Returns the length at the top of the chart. A few very long steps are cut, because they would flatten all others.
double visible_length(const std::vector<StepBar>& bars) {
  constexpr std::size_t kFew = 3;
  constexpr double kUsual = 0.9, kTooLong = 4, kRoom = 1.5;
  std::vector<double> lengths;
  for (const StepBar& bar : bars) lengths.push_back(bar.length);
  std::ranges::sort(lengths);
  const double usual = lengths[static_cast<std::size_t>(kUsual * static_cast<double>(lengths.size() - 1))];
  const bool cut = lengths.size() >= kFew && usual > 0 && lengths.back() > kTooLong * usual;
  return std::max(cut ? kRoom * usual : lengths.back(), 1.0);
}

struct Unit {
  double nanoseconds;
  const char* name;
};

Unit unit_for(double nanoseconds) {
  if (nanoseconds >= 1e10) return {1e9, "s"};
  return nanoseconds >= 1e4 ? Unit{1e6, "ms"} : Unit{1e3, "us"};
}

/// Rounds up to 1, 2 or 5 times a power of ten.
double rounded_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0})
    if (value <= step * power * (1 + 1e-9)) return step * power;
  return 10 * power;
}

std::string tick_text(double value, double step) {
  return number(value, std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6));
}

class StepChart {
 public:
  StepChart(const std::vector<Step>& steps, double mean_step)
      : bars_(step_bars(steps)),
        steps_(steps.size()),
        mean_(mean_step),
        length_(visible_length(bars_)),
        unit_(unit_for(length_)),
        tick_(rounded_up(length_ / unit_.nanoseconds / kMostTicks)),
        ticks_(std::max(static_cast<int>(std::ceil(length_ / unit_.nanoseconds / tick_ - 1e-9)), 1)),
        top_(ticks_ * tick_ * unit_.nanoseconds) {}

  std::string html() const {
    std::string content = grid(), over;
    double free_from = -1;  // for the lengths of bars that are cut
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      content += bar(i);
      if (is_cut(bars_[i])) over += cut_mark(i, free_from);
    }
    content += over + mean_line() + step_names();
    const std::string label = text_of("Stacked bar chart of the times of %zu steps", steps_);
    return "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Chart of the steps\"><div class=\"plot" +
           std::string(bars_.size() > kDense ? " dense" : "") + "\">" + axis() + "<svg height=\"" +
           std::to_string(kHeight) + "\" width=\"100%\" role=\"img\" aria-label=\"" + label + "\">" + content +
           "</svg></div></div>\n" + paragraph(remarks());
  }

 private:
  static constexpr double kMostTicks = 6;
  static constexpr int kTop = 22, kBottom = 232, kHeight = 272;  // pixels
  static constexpr std::size_t kDense = 50, kFewest = 6, kLabels = 12;

  double slot() const { return 1 / static_cast<double>(std::max(bars_.size(), kFewest)); }
  double middle(std::size_t bar) const { return (static_cast<double>(bar) + 0.5) * slot(); }
  double y(double length) const { return kBottom - std::min(length / top_, 1.0) * (kBottom - kTop); }

  bool is_cut(const StepBar& bar) const { return bar.length > top_ * (1 + 1e-6); }

  std::string axis() const {
    std::string labels, longest;
    for (int i = 0; i <= ticks_; ++i) {
      const double at = i * tick_;
      const std::string text = tick_text(at, tick_);
      if (text.size() > longest.size()) longest = text;
      labels += text_of("<text class=\"note\" x=\"100%%\" dx=\"-8\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                        y(at * unit_.nanoseconds) + 4, text.c_str());
    }
    labels += text_of("<text class=\"note\" x=\"100%%\" dx=\"-8\" y=\"10\" text-anchor=\"end\">%s</text>", unit_.name);
    return text_of("<svg width=\"%zu\" height=\"%d\" aria-hidden=\"true\">",
                   14 + 7 * std::max<std::size_t>(longest.size(), 2), kHeight) +
           labels + "</svg>";
  }

  std::string grid() const {
    std::string lines;
    for (int i = 0; i <= ticks_; ++i) {
      const double line = y(i * tick_ * unit_.nanoseconds);
      lines += text_of("<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>", line, line);
    }
    return lines;
  }

  std::string bar(std::size_t number) const {
    constexpr double kInvisible = 0.05;  // pixels
    const StepBar& bar = bars_[number];
    const double width = 0.8 * slot();
    const std::string place =
        "\" x=\"" + percent_of_width(middle(number) - width / 2) + "\" width=\"" + percent_of_width(width) + "\" y=\"";
    const double scale = std::min(1.0, ratio(top_, bar.length));  // fits a bar that is cut
    std::string out;
    double below = 0;
    for (std::size_t i = 0; i < kCategories; ++i) {
      const auto category = static_cast<Category>(i);
      const double time = bar.times[category], bottom = y(below), top = y(below + scale * time);
      below += scale * time;
      if (bottom - top < kInvisible) continue;
      out += "<rect class=\"" + kind_of(category) + place + text_of("%.1f\" height=\"%.1f\">", top, bottom - top) +
             titled(bar.title() + ": " + std::string(overview::name(category)) + " " + milliseconds(time) + ", " +
                    share(ratio(time, bar.length)) + " of " + milliseconds(bar.length)) +
             "</rect>";
    }
    return out;
  }

  /// Breaks a bar that is longer than the axis, and prints its length above if there is room.
  std::string cut_mark(std::size_t number, double& free_from) const {
    constexpr double kRoom = 0.09;
    const std::string x = percent_of_width(middle(number) - 0.5 * slot());
    std::string out = "<line class=\"cut\" x1=\"" + x + "\" x2=\"" + percent_of_width(middle(number) + 0.5 * slot()) +
                      text_of("\" y1=\"%d\" y2=\"%d\"/>", kTop + 14, kTop + 8);
    if (middle(number) < free_from) return out;
    free_from = middle(number) + kRoom;
    const char* anchor = middle(number) < kRoom / 2 ? "start" : middle(number) > 1 - kRoom / 2 ? "end" : "middle";
    return out + "<text x=\"" + percent_of_width(middle(number)) +
           text_of("\" y=\"%d\" text-anchor=\"%s\">", kTop - 8, anchor) + milliseconds(bars_[number].length) +
           "</text>";
  }

  bool shows_mean() const { return mean_ > 0 && mean_ <= top_; }

  std::string remarks() const {
    std::string text;
    if (const std::size_t each = steps_per_bar(steps_); each > 1)
      text += text_of("Each bar is the mean of up to %zu neighbouring steps, because there are ", each) +
              number(static_cast<double>(steps_), 0) + " steps. ";
    if (shows_mean()) text += "The dashed line is the mean. ";
    if (std::ranges::any_of(bars_, [&](const StepBar& bar) { return is_cut(bar); }))
      text += "A bar with a gap is longer than the axis; its parts show their shares.";
    return text;
  }

  std::string mean_line() const {
    if (!shows_mean()) return {};
    const double line = y(mean_);
    return text_of("<line class=\"mean\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"><title>Mean: %s</title></line>",
                   line, line, milliseconds(mean_).c_str());
  }

  std::string step_names() const {
    const std::size_t each = (bars_.size() + kLabels - 1) / kLabels;
    std::string names;
    for (std::size_t i = 0, label = 0; i < bars_.size(); i += each, ++label) {
      names += "<text class=\"note" + std::string(label % 2 == 1 ? " rare" : "") + "\" x=\"" +
               percent_of_width(middle(i)) + text_of("\" y=\"%d\" text-anchor=\"middle\">", kBottom + 16) +
               escaped(shortened(bars_[i].first, 8)) + "</text>";
    }
    return names + text_of("<text class=\"note\" x=\"50%%\" y=\"%d\" text-anchor=\"middle\">step</text>", kBottom + 34);
  }

  std::vector<StepBar> bars_;
  std::size_t steps_;
  double mean_, length_;
  Unit unit_;
  double tick_;  // in units
  int ticks_;
  double top_;  // nanoseconds
};

}  // namespace

std::string stacked_bar(const std::vector<Part>& parts, const std::string& label, BarSize size) {
  constexpr double kInvisible = 0.0005, kRoomForShare = 0.11;
  const int height = size == BarSize::large ? 36 : 14;
  std::string content = "<rect class=\"track\" width=\"100%\" height=\"100%\"/>", texts;
  double from = 0;
  for (const Part& part : parts) {
    const double width = std::clamp(std::isfinite(part.share) ? part.share : 0, 0.0, 1 - from);
    if (width >= kInvisible) {
      content += "<rect class=\"" + part.kind + "\" x=\"" + percent_of_width(from) + "\" width=\"" +
                 percent_of_width(width) + "\" height=\"100%\">" + titled(part.title) + "</rect>";
    }
    if (size == BarSize::large && width >= kRoomForShare) {
      texts += "<text class=\"o" + part.kind.substr(1) + "\" x=\"" + percent_of_width(from + width / 2) +
               "\" y=\"22\" text-anchor=\"middle\" pointer-events=\"none\">" + percent_text(part.share) + "</text>";
    }
    from += width;
  }
  return text_of("<svg class=\"bar\" width=\"100%%\" height=\"%d\" role=\"img\" aria-label=\"", height) +
         escaped(label) + "\">" + content + texts + "</svg>\n";
}

std::string meter(const std::string& label, const std::optional<double>& share) {
  const std::string value = share ? page::share(*share) : "";
  return "<div class=\"meter\"><span>" + escaped(label) + "</span>" +
         (share ? "<div>" + stacked_bar({{*share, "k0", ""}}, label + ": " + value) + "<b>" + value + "</b></div>"
                : "<i>not in this trace</i>") +
         "</div>\n";
}

std::string change_bar(double share, const std::string& label) {
  const double width = std::clamp(std::isfinite(share) ? std::abs(share) : 0, 0.0, 1.0) / 2;
  return "<svg class=\"bar\" width=\"100%\" height=\"14\" role=\"img\" aria-label=\"" + escaped(label) +
         "\"><rect class=\"track\" width=\"100%\" height=\"100%\"/><rect class=\"" + (share < 0 ? "less" : "more") +
         "\" x=\"" + percent_of_width(share < 0 ? 0.5 - width : 0.5) + "\" width=\"" + percent_of_width(width) +
         "\" height=\"100%\"/><line class=\"middle\" x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"14\"/></svg>\n";
}

std::string swatch(const std::string& kind) {
  return "<svg class=\"swatch\" aria-hidden=\"true\"><rect class=\"" + kind +
         "\" width=\"100%\" height=\"100%\"/></svg>";
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  for (const auto& [kind, text] : entries) out += "<span>" + swatch(kind) + escaped(text) + "</span>";
  return "<div class=\"key\">" + out + "</div>\n";
}

std::string kind_of(Category category) {
  return "k" + std::to_string(static_cast<int>(category));
}

std::vector<Part> category_parts(const CategoryTimes& times, double whole) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    parts.push_back({ratio(times[category], whole), kind_of(category),
                     std::string(overview::name(category)) + " " + milliseconds(times[category]) + ", " +
                         share(ratio(times[category], times.sum()))});
  }
  return parts;
}

std::string category_legend(const CategoryTimes& times) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    if (times[category] > 0) entries.emplace_back(kind_of(category), std::string(overview::name(category)));
  }
  return legend(entries);
}

std::string step_chart(const std::vector<Step>& steps, double mean_step) {
  return steps.empty() ? "" : StepChart(steps, mean_step).html();
}

}  // namespace penstock::overview::page
