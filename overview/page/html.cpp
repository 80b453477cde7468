#include <algorithm>
#include <cmath>

#include <base/amounts.hpp>
#include <base/printable.hpp>
#include <overview/page/html.hpp>

namespace penstock::overview::page {
namespace {

// The policy forbids the page to load anything, even if a name in a trace contains markup.
constexpr std::string_view kBeforeTitle = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>)html";

// --k0 to --k7 are the categories in their order, --o0 to --o7 the text on them (contrast of 4.5 or more). Neighbours
// in this order differ by at least 13 in 100 * OKLab for normal, protan, deutan and tritan vision (Machado et al.,
// 2009).
constexpr std::string_view kBeforeHeading = R"html(</title><style>
:root { color-scheme: light dark; --ink: #1d2733; --soft: #566472; --line: #dde3ea; --paper: #fff; --page: #f5f7f9; --water: #1f7a8c; --wait: #d9a441; --tint: #eef4f6;
--k0: #1f7a8c; --k1: #e0a030; --k2: #6b4a10; --k3: #45238a; --k4: #2d9af2; --k5: #a5214b; --k6: #6f9b4e; --k7: #b9c2cb;
--o0: #fff; --o1: #10161d; --o2: #fff; --o3: #fff; --o4: #10161d; --o5: #fff; --o6: #10161d; --o7: #10161d; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e3e9ef; --soft: #9aaaba; --line: #2e3a46; --paper: #1a222b; --page: #12181f; --water: #3aa0b5; --tint: #212c37;
--k0: #4f9cb0; --k1: #d8a838; --k2: #f6f38a; --k3: #9150dc; --k4: #74b9fb; --k5: #d2602a; --k6: #a0e6c4; --k7: #4b5663;
--o0: #10161d; --o1: #10161d; --o2: #10161d; --o3: #fff; --o4: #10161d; --o5: #10161d; --o6: #10161d; --o7: #fff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; -webkit-text-size-adjust: 100%; }
main { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.25rem; margin: 1rem 0; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 0 0 .6rem; } h2 small { color: var(--soft); font-size: .85rem; font-weight: 400; }
h3 { font-size: .95rem; margin: 1.2rem 0 .4rem; } p { margin: .3rem 0; color: var(--soft); overflow-wrap: anywhere; } p.plain { color: var(--ink); } a { color: var(--water); }
code { font: .92em ui-monospace, monospace; background: var(--tint); padding: .05em .3em; border-radius: 3px; }
.verdict { border-left: 5px solid var(--wait); } .verdict.computes { border-left-color: var(--water); }
.verdict p.lead { color: var(--ink); font-size: 1.3rem; line-height: 1.4; margin: 0 0 .8rem; }
.verdict dl { display: grid; grid-template-columns: max-content 1fr; gap: .5rem 1rem; margin: 0; font-size: 1.1rem; } .verdict dt { font-weight: 650; } .verdict dd { margin: 0; overflow-wrap: anywhere; }
.verdict ul { margin: 0; padding-left: 1.1rem; } .verdict li + li { margin-top: .3rem; }
.notes { border-left: 5px solid var(--soft); } .notes ul { margin: 0; padding-left: 1.1rem; } .notes li { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid var(--water); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; } tbody tr:last-child > * { border-bottom: 0; }
thead th { color: var(--soft); font-weight: 600; font-size: .88rem; vertical-align: bottom; white-space: normal; } tbody th { font-weight: 400; }
th:first-child, .word { text-align: left; } th:first-child { padding-left: 0; } tr > :last-child { padding-right: 0; }
td small { color: var(--soft); font-size: .85em; } td .missing, p.missing { color: var(--soft); font-style: italic; }
td.what, th.what { text-align: left; white-space: normal; color: var(--soft); width: 60%; } td.chart, th.chart { min-width: 9rem; width: 20%; text-align: left; } td.wide, th.wide { min-width: 14rem; width: 55%; text-align: left; }
th.names { width: 45%; min-width: 15rem; max-width: 22rem; } tr.slowest > th { font-weight: 650; } table.steps { margin-top: .5rem; } tr.sum > .what { font-weight: 400; } tr.sum > :not(.what) { font-weight: 650; } tr.sum > * { border-top: 1px solid var(--soft); }
.badge { display: inline-block; background: var(--wait); color: #10161d; border-radius: 3px; padding: 0 .4em; margin-left: .5em; font-size: .8rem; font-weight: 600; }
.name { display: flex; max-width: 100%; font: .9em/1.5 ui-monospace, monospace; cursor: pointer; } .name span { white-space: pre; } .name span:first-child { overflow: hidden; text-overflow: ellipsis; } .name span:last-child { flex: none; }
.name:focus { display: block; overflow-wrap: anywhere; } .name:focus span { display: inline; white-space: pre-wrap; } .one { font: .9em/1.5 ui-monospace, monospace; }
svg { display: block; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } svg text.note { fill: var(--soft); }
svg.bar { width: 100%; overflow: hidden; border-radius: 3px; } .bar rect { stroke: var(--paper); stroke-width: 1; } .bar rect.track { fill: var(--line); stroke: none; }
.k0 { fill: var(--k0); color: var(--k0); } .k1 { fill: var(--k1); color: var(--k1); } .k2 { fill: var(--k2); color: var(--k2); } .k3 { fill: var(--k3); color: var(--k3); }
.k4 { fill: var(--k4); color: var(--k4); } .k5 { fill: var(--k5); color: var(--k5); } .k6 { fill: var(--k6); color: var(--k6); } .k7 { fill: var(--k7); color: var(--k7); } rect.faint { fill-opacity: .35; }
svg text.o0 { fill: var(--o0); } svg text.o1 { fill: var(--o1); } svg text.o2 { fill: var(--o2); } svg text.o3 { fill: var(--o3); } svg text.o4 { fill: var(--o4); } svg text.o5 { fill: var(--o5); } svg text.o6 { fill: var(--o6); } svg text.o7 { fill: var(--o7); }
svg.swatch { display: inline-block; width: .8em; height: .8em; margin-right: .45em; vertical-align: -.05em; } .key { display: flex; flex-wrap: wrap; gap: .15rem 1.2rem; margin: .5rem 0; font-size: .88rem; } .key span { white-space: nowrap; }
.plot { display: flex; min-width: 0; margin-top: .4rem; } .plot svg:first-child { flex: none; } .plot svg:last-child { flex: 1; min-width: 0; overflow: visible; } .plot.dense { min-width: 44rem; }
line { stroke-width: 1; } line.axis, line.grid { stroke: var(--line); } .less { fill: var(--water); } .more { fill: var(--wait); } line.middle { stroke: var(--ink); } line.mean { stroke: var(--ink); stroke-dasharray: 4 3; } line.cut { stroke: var(--paper); stroke-width: 3; }
.tiles { display: flex; flex-wrap: wrap; gap: .5rem 2.2rem; margin: .6rem 0 .2rem; } .tiles div { min-width: 6rem; } .tiles b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; } .tiles span { color: var(--soft); font-size: .85rem; } .tiles b.missing { font-size: 1rem; font-weight: 400; font-style: italic; color: var(--soft); line-height: 1.95rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 1rem 2rem; } .cards.single { grid-template-columns: minmax(0, 40rem); } .cards h3 { margin: 0; } .cards p { margin: 0 0 .4rem; font-size: .88rem; }
.meter { display: grid; grid-template-columns: 11.5rem 1fr; gap: 0 .8rem; align-items: center; margin: .15rem 0; } .meter div { display: grid; grid-template-columns: 1fr 4rem; gap: .6rem; align-items: center; text-align: right; font-variant-numeric: tabular-nums; } .meter i { color: var(--soft); }
details summary { cursor: pointer; font-weight: 650; font-size: 1.05rem; } details dl { margin: .6rem 0 0; } details dt { font-weight: 650; margin-top: .6rem; } details dd { margin: 0; color: var(--soft); overflow-wrap: anywhere; }
@media (max-width: 40rem) { main { padding: 0 .5rem; margin: 1rem auto; } section { padding: .8rem; } .rare { display: none; } .verdict dl { grid-template-columns: 1fr; gap: .1rem; } .verdict dd { margin-bottom: .5rem; } .cards { grid-template-columns: 1fr; } h1 { font-size: 1.25rem; } .verdict p.lead { font-size: 1.15rem; } .verdict dl { font-size: 1rem; }
.meter { display: flex; flex-wrap: wrap; margin: .4rem 0; } .meter div { flex: 1 0 100%; } table.steps, table.steps tbody { display: block; } table.steps thead { display: none; } table.steps tr { display: grid; grid-template-columns: minmax(0, 1fr) auto 5rem; border-bottom: 1px solid var(--line); } table.steps tr > * { border: 0; } table.steps td.what { grid-row: 2; grid-column: 1 / -1; width: auto; padding: 0 0 .3rem 1.25rem; } th.names { min-width: 12rem; } td.wide, th.wide { min-width: 8rem; } td.chart, th.chart { min-width: 6rem; } }
@media print { html { font-size: 11px; } body { background: none; font-size: 10.5px; } main { max-width: none; margin: 0; padding: 0; } section { padding: .7rem .9rem; } tr, .plot, svg, .meter, .key, dd, li { break-inside: avoid; } h2, h3, thead { break-after: avoid; } .scroll { overflow: visible; } a { color: inherit; }
th, td { padding: .2rem .35rem; } svg text { font-size: 9px; } .name { display: block; overflow-wrap: anywhere; } .name span { display: inline; white-space: pre-wrap; } th.names { white-space: normal; } .plot.dense, td.chart, th.chart, td.wide, th.wide, th.names { min-width: 0; } td.chart, th.chart { width: 12%; min-width: 4rem; }
details::details-content { content-visibility: visible; block-size: auto; } svg, .badge { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
</style></head><body><main>
)html";

bool inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Returns the last position up to `at` that is between two characters.
std::size_t boundary(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && inside_character(text[at])) --at;
  return at;
}

std::string kind_attribute(std::string_view kind) {
  return kind.empty() ? "" : " class=\"" + std::string(kind) + "\"";
}

}  // namespace

std::string head(std::string_view title) {
  const std::string text = escaped(title);
  return std::string(kBeforeTitle) + text + std::string(kBeforeHeading) + "<h1>" + text + "</h1>\n";
}

std::string end() {
  return "</main></body></html>\n";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : one_line(text)) {
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

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::size_t first = boundary(text, most / 2), last = boundary(text, text.size() - most / 2);
  return std::string(text.substr(0, first)) + "\u2026" + std::string(text.substr(last));
}

std::string name(std::string_view text) {
  constexpr std::size_t kMost = 500;  // bytes; keeps the page small, even with templates of 100 kB
  constexpr std::size_t kShort = 36, kTail = 14;
  const std::string shown = shortened(text, kMost);
  if (shown.size() <= kShort) return "<span class=\"one\">" + escaped(shown) + "</span>";
  const std::size_t cut = boundary(shown, shown.size() - kTail);
  return "<span class=\"name\" tabindex=\"0\" title=\"" + escaped(shown) + "\"><span>" +
         escaped(std::string_view(shown).substr(0, cut)) + "</span><span>" +
         escaped(std::string_view(shown).substr(cut)) + "</span></span>";
}

std::string unbroken(std::string text) {
  for (const std::string_view unit : {" %", " ms"}) {
    for (std::size_t at = text.find(unit); at != std::string::npos; at = text.find(unit, at))
      text.replace(at, 1, "\u00a0");
  }
  return text;
}

std::string sentence(std::string_view text) {
  constexpr std::size_t kMost = 2'000;
  const std::string shown = unbroken(shortened(text, kMost));
  std::string out;
  for (std::string_view rest = shown;;) {
    const std::size_t begin = rest.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : rest.find('`', begin + 1);
    if (end == std::string_view::npos) return out + escaped(rest);
    out += escaped(rest.substr(0, begin)) + "<code>" + escaped(rest.substr(begin + 1, end - begin - 1)) + "</code>";
    rest.remove_prefix(end + 1);
  }
}

std::string paragraph(const std::string& html, std::string_view kind) {
  return html.empty() ? "" : "<p" + kind_attribute(kind) + ">" + html + "</p>\n";
}

std::string section(std::string_view id, const std::string& heading, const std::string& content) {
  return "<section id=\"" + std::string(id) + "\"><h2>" + heading + "</h2>\n" + content + "</section>\n";
}

std::string tile(std::string_view value, std::string_view label) {
  return "<div><b>" + escaped(value) + "</b><span>" + escaped(label) + "</span></div>";
}

std::string tiles(const std::string& content) {
  return "<div class=\"tiles\">" + content + "</div>\n";
}

std::string table(std::string_view label, const std::vector<Column>& columns, const std::string& rows,
                  std::string_view kind) {
  std::string headings;
  for (const Column& column : columns)
    headings += "<th scope=\"col\"" + kind_attribute(column.kind) + ">" + escaped(column.heading) + "</th>";
  const std::string text = escaped(label);
  return "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" + text + "\"><table" +
         kind_attribute(kind) + "><thead><tr>" + headings + "</tr></thead><tbody>\n" + rows +
         "</tbody></table></div>\n";
}

std::string row(const std::vector<Column>& columns, const std::vector<std::string>& cells, std::string_view kind) {
  std::string out = "<tr" + kind_attribute(kind) + ">";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string attribute = kind_attribute(columns[i].kind);
    out += i == 0 ? "<th scope=\"row\"" + attribute + ">" + cells[i] + "</th>"
                  : "<td" + attribute + ">" + cells[i] + "</td>";
  }
  return out + "</tr>\n";
}

std::string number(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  constexpr double kMost = 1e15;  // above, a double has no digits after the point
  if (std::abs(value) >= kMost) return text_of("%.3g", value);
  std::string text = text_of("%.*f", digits, value);
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = std::min(text.find('.'), text.size()); at > first + 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string share(double value) {
  return std::isfinite(value) ? number(100 * value, 1) + " %" : "-";
}

double ratio(double part, double whole) {
  const double value = whole > 0 ? part / whole : 0;
  return std::isfinite(value) ? value : 0;
}

int digits_for(double largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(largest))), 0, 6);
}

std::string milliseconds(double nanoseconds, int digits) {
  const std::string text = number(nanoseconds / 1e6, digits);
  return text == "-" ? text : text + " ms";
}

std::string milliseconds(double nanoseconds) {
  return milliseconds(nanoseconds, nanoseconds > 0 ? std::max(digits_for(nanoseconds / 1e6) - 1, 0) : 0);
}

}  // namespace penstock::overview::page
