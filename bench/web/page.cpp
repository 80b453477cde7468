#include <bench/web/page.hpp>

namespace penstock {
namespace {

constexpr std::string_view kHead = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>penstock top</title><link rel="icon" href="data:,">
)html";

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --ink: #1d2733; --soft: #566472; --line: #dde3ea; --paper: #fff; --page: #f5f7f9;
  --water: #1f7a8c; --wait: #d9a441; --p0: #e0a030; --p1: #6b4a10; --p2: #45238a; --p3: #2d9af2;
  --p4: #a5214b; --p5: #6f9b4e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e9ef; --soft: #9aaaba; --line: #2e3a46; --paper: #1a222b;
  --page: #12181f; --water: #3aa0b5; --wait: #d9a441; --p0: #d8a838; --p1: #f6f38a; --p2: #9150dc;
  --p3: #74b9fb; --p4: #d2602a; --p5: #a0e6c4; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 1.5rem auto; padding: 0 1rem; }
header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 0 2rem; }
header p { margin: 0; color: var(--soft); font-variant-numeric: tabular-nums; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 0 0 .6rem; } h3 { font-size: .95rem; margin: 0; }
section, details { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.25rem;
  margin: 1rem 0; }
#status { border-left: 5px solid var(--wait); } #status p { margin: 0; font-weight: 600; }
main.stale section:not(#status), main.stale details { opacity: .5; }
[hidden] { display: none !important; }
.tiles { display: flex; flex-wrap: wrap; gap: .5rem 2.2rem; margin: .2rem 0 .6rem; } .tiles div { min-width: 6rem; }
.tiles b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: .85rem; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid var(--water); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
tbody tr:last-child > * { border-bottom: 0; } thead th { color: var(--soft); font-weight: 600; font-size: .88rem; }
tbody th { font-weight: 400; } th:first-child, .word { text-align: left; } tr.slow > * { font-weight: 650; }
td.chart { min-width: 8rem; width: 35%; } svg { display: block; width: 100%; }
.badge { background: var(--wait); color: #10161d; border-radius: 3px; padding: 0 .4em; font-size: .8rem; }
.lead { font-size: 1.1rem; margin: .6rem 0; overflow-wrap: anywhere; } #compare p { margin: .6rem 0 0; }
summary { cursor: pointer; } summary h2 { display: inline; } summary .badge { margin-left: .6em; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(19rem, 1fr)); gap: 1rem 2rem; align-items: start;
  margin: .8rem 0; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: .88rem; margin-bottom: .2rem; }
svg.plot { height: 5rem; border-bottom: 1px solid var(--line); }
.plot polygon { fill: var(--water); fill-opacity: .18; }
.plot polyline { fill: none; stroke: var(--water); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.plot.wait polygon { fill: var(--wait); } .plot.wait polyline { stroke: var(--wait); }
svg.bar { height: .8rem; border-radius: 3px; background: var(--line); } .bar rect { fill: var(--water); height: 100%; }
svg.split { height: 1.4rem; border-radius: 3px; background: var(--line); margin: .4rem 0; } .split rect { height: 100%; }
.key { display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; font-size: .88rem; } .key span { white-space: nowrap; }
.key svg { display: inline-block; width: .8em; height: .8em; margin-right: .4em; vertical-align: -.05em; }
.own { fill: var(--water); } .p0 { fill: var(--p0); } .p1 { fill: var(--p1); } .p2 { fill: var(--p2); }
.p3 { fill: var(--p3); } .p4 { fill: var(--p4); } .p5 { fill: var(--p5); }
@media (max-width: 40rem) { main { padding: 0 .5rem; } section, details { padding: .8rem; }
  .grid { grid-template-columns: minmax(0, 1fr); } }
)css";

constexpr std::string_view kBody = R"html(</head><body><main id="main">
<header><h1>penstock top</h1><p id="clock"></p></header>
<noscript><section><p>This page needs JavaScript.</p></section></noscript>
<section id="status" role="status"><p id="message">Waiting for the first numbers.</p></section>
<section aria-labelledby="machine"><h2 id="machine">Machine</h2><div class="tiles" id="node"></div></section>
<section id="compare" aria-labelledby="loaders" hidden><h2 id="loaders">Loaders and ranks</h2>
<div class="scroll" role="region" tabindex="0" aria-labelledby="loaders"><table><thead><tr><th scope="col">program
</th><th scope="col">PID</th><th scope="col">rank</th><th scope="col">samples/s</th><th scope="col">MB/s</th>
<th scope="col">data wait</th><th scope="col">ready</th><th scope="col">buffers free</th><th scope="col">memory</th>
<th scope="col" class="word">state</th><th scope="col" class="word">bottleneck</th></tr></thead>
<tbody id="rows"></tbody></table></div><div id="ranks"></div></section>
<div id="cards"></div>
<section id="ended" aria-labelledby="past" hidden><h2 id="past">Ended</h2>
<div class="scroll" role="region" tabindex="0" aria-labelledby="past"><table><thead><tr><th scope="col">program</th>
<th scope="col">PID</th><th scope="col">rank</th><th scope="col">samples</th><th scope="col">epochs</th>
<th scope="col">data wait</th><th scope="col">ended at</th></tr></thead><tbody id="past_rows"></tbody></table></div>
</section>
<section id="left_out" aria-labelledby="omitted" hidden><h2 id="omitted">Left out</h2><ul id="omissions"></ul></section>
</main>
)html";

}  // namespace

std::string live_page_html(std::string_view nonce) {
  const std::string guarded = " nonce=\"" + std::string(nonce) + "\">";
  return std::string(kHead) + "<style" + guarded + std::string(kStyle) + "</style>" + std::string(kBody) + "<script" +
         guarded + std::string(live_page_script()) + "</script></body></html>\n";
}

}  // namespace penstock
