#include <algorithm>

#include <penstock/bench/report/html.hpp>
#include <penstock/bench/report/units.hpp>

namespace penstock {
namespace {

constexpr std::string_view kBeforeTitle = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>)html";

constexpr std::string_view kBeforeHeading = R"html(</title><style>
:root { --ink: #1d2733; --soft: #5c6b7a; --line: #dde3ea; --paper: #fff; --page: #f5f7f9; --water: #1f7a8c; --wait: #d9a441; --room: #b8c4ce; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e9ef; --soft: #93a3b3; --line: #2e3a46; --paper: #1a222b; --page: #12181f; --room: #4b5a68; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 92rem; margin: 2rem auto; padding: 0 1rem; }
svg { max-width: 64rem; } section { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.25rem; margin: 1rem 0; overflow-x: auto; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 0 0 .6rem; } p { margin: .3rem 0; color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child, td.word { text-align: left; }
tr.best td { font-weight: 650; } svg { display: block; width: 100%; height: auto; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.busy { fill: var(--water); } .in { fill: var(--wait); } .out { fill: var(--room); }
.key span { display: inline-block; width: .8em; height: .8em; margin: 0 .35em 0 1em; border-radius: 2px; }
</style></head><body><main>
)html";

}  // namespace

std::string html_head(std::string_view title) {
  const std::string text = html_escaped(title);
  return std::string(kBeforeTitle) + text + std::string(kBeforeHeading) + "<h1>" + text + "</h1>";
}

std::string html_end() {
  return "</main></body></html>\n";
}

std::string html_machine(const Machine& machine, const std::string& file_system) {
  return "<section><h2>Machine</h2><p>" + html_escaped(machine.cpu) + ", " + std::to_string(machine.cores_usable) +
         " of " + std::to_string(machine.cores_online) + " cores, " + bytes_text(machine.memory_total) + " memory, " +
         html_escaped(file_system.empty() ? "unknown file system" : file_system) + ", " + html_escaped(machine.kernel) +
         "</p><p>penstock " PENSTOCK_VERSION "</p></section>\n";
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string html_cell(const std::string& text) {
  return "<td>" + html_escaped(text) + "</td>";
}

std::string html_bar(std::size_t line, const std::string& label, const std::vector<HtmlPart>& parts,
                     const std::string& value) {
  constexpr double kLeft = 230, kWidth = 560;
  const double y = 6 + 28.0 * static_cast<double>(line);
  std::string svg = "<text x=\"0\" y=\"" + fixed(y + 15, 0) + "\">" + html_escaped(label) + "</text>";
  double x = kLeft;
  for (const HtmlPart& part : parts) {
    const double width = std::max(0.0, part.share) * kWidth;
    svg += "<rect class=\"" + std::string(part.kind) + "\" x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 0) +
           "\" width=\"" + fixed(width, 1) + "\" height=\"20\" rx=\"2\"/>";
    x += width;
  }
  return svg + "<text x=\"" + fixed(x + 8, 1) + "\" y=\"" + fixed(y + 15, 0) + "\">" + html_escaped(value) + "</text>";
}

std::string html_chart(const std::string& bars, std::size_t lines) {
  return "<svg viewBox=\"0 0 920 " + std::to_string(12 + 28 * lines) + "\" role=\"img\">" + bars + "</svg>";
}

}  // namespace penstock
