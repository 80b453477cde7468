#include <algorithm>

#include <bench/measure/units.hpp>
#include <bench/report/html.hpp>
#include <transforms/simd_targets.hpp>

namespace penstock {
namespace {

constexpr std::string_view kBeforeTitle = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>)html";

constexpr std::string_view kBeforeHeading = R"html(</title><style>
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5c6b7a; --line: #dde3ea; --paper: #fff; --page: #f5f7f9; --water: #1f7a8c; --wait: #d9a441; --room: #b8c4ce;
--c0: #1f7a8c; --c1: #c8553d; --c2: #7a6fb0; --c3: #4f8f46; --c4: #b8860b; --c5: #a4477e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e9ef; --soft: #9aaaba; --line: #2e3a46; --paper: #1a222b; --page: #12181f; --water: #3aa0b5; --room: #4b5a68;
--c0: #3aa0b5; --c1: #e4826c; --c2: #a79ddd; --c3: #7fbd76; --c4: #dbb24a; --c5: #d583b3; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.25rem; margin: 1rem 0; overflow-x: auto; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 0 0 .6rem; } p { margin: .3rem 0; color: var(--soft); overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child, td.word, th.word { text-align: left; }
table.facts td, table.keys td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; } table.facts td:first-child { color: var(--soft); width: 12rem; }
tr.best td { font-weight: 650; } svg { display: block; width: 100%; height: auto; min-width: 38rem; max-width: 64rem; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
svg text.note { fill: var(--soft); font-size: 12px; } svg text.label { font-weight: 600; }
.busy { fill: var(--water); } .in { fill: var(--wait); } .out { fill: var(--room); }
svg line { stroke-width: 1; } line.axis, line.grid { stroke: var(--line); } line.cut { stroke: var(--soft); stroke-dasharray: 3 3; }
.area { fill: var(--water); fill-opacity: .18; } .line { fill: none; stroke: var(--water); stroke-width: 1.5; stroke-linejoin: round; }
g polyline { fill: none; stroke-width: 2; } g.dashed polyline { stroke-dasharray: 6 4; } line.whisker { stroke: inherit; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); } .c4 { color: var(--c4); } .c5 { color: var(--c5); }
g[class^=c] { stroke: currentColor; fill: currentColor; } .key span[class^=c] { background: currentColor; }
.key span { display: inline-block; width: .8em; height: .8em; margin: 0 .35em 0 1em; border-radius: 2px; } .key span:first-child { margin-left: 0; }
.key i { font-style: normal; display: inline-block; margin-right: 1.2em; } .key span.dashed { background: none; border: 2px dashed currentColor; }
.verdict { border-left: 5px solid var(--water); } .verdict.waits { border-left-color: var(--wait); } .verdict p.said { color: var(--ink); font-size: 1.1rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .5rem 2.2rem; margin: .8rem 0 .2rem; } .tiles div { min-width: 6rem; } .tiles b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; } .tiles span { color: var(--soft); font-size: .85rem; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1rem 2rem; } .grid svg { min-width: 0; max-width: 32rem; }
@media (max-width: 30rem) { .grid { grid-template-columns: 1fr; } main { padding: 0 .4rem; } }
</style></head><body><main>
)html";

// Shortens a name to the space before a bar. Does not cut inside a UTF-8 character.
std::string shortened(const std::string& text) {
  constexpr std::size_t kFits = 32;
  if (text.size() <= kFits) return text;
  std::size_t end = kFits - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "\u2026";
}

}  // namespace

std::string html_head(std::string_view title) {
  const std::string text = html_escaped(title);
  return std::string(kBeforeTitle) + text + std::string(kBeforeHeading) + "<h1>" + text + "</h1>";
}

std::string html_end() {
  return "</main></body></html>\n";
}

std::string html_machine(const Machine& machine, const std::string& file_system) {
  return "<section><h2>Machine</h2><p>" + html_escaped(machine.cpu) + ", " + simd_text() + ", " +
         std::to_string(machine.cores_usable) + " of " + std::to_string(machine.cores_online) + " cores, " +
         bytes_text(machine.memory_total) + " memory, " +
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
      case '\'':
        out += "&#39;";
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
  std::string svg = "<text x=\"0\" y=\"" + fixed(y + 15, 0) + "\"><title>" + html_escaped(label) + "</title>" +
                    html_escaped(shortened(label)) + "</text>";
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
