#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <bench/measure/units.hpp>
#include <bench/report/charts.hpp>
#include <bench/report/report.hpp>
#include <penstock/error.hpp>
#include <record/time/histogram.hpp>

namespace penstock::test::report_test {

using namespace std::chrono_literals;

namespace {

BenchReport sample_report() {
  BenchReport report;
  penstock::ReportedSubject subject;
  subject.dataset.path = "/data/<photos>";
  subject.dataset.format = "tar";
  subject.dataset.samples = 2000;
  subject.task = "image-train";
  subject.task_reason = "asked for";
  report.subjects.push_back(subject);
  report.consumer = "none";
  BenchRow row;
  row.setting = {2, 4, 64};
  row.engine = "inline";
  row.engine_reason = "resident";
  row.samples_per_s = {1234.5, 1200, 1300};
  row.efficiency = penstock::Spread{0.93, 0.91, 0.95};
  row.loop_samples_per_s = 1327;
  row.resident_share = 1;
  row.rounds = 10;
  row.samples = 5000;
  row.seconds = 4;
  row.stats.stages.push_back({"read", 2, 1s, 2s, 500ms});
  row.stats.stages.push_back({"decode", 2, 6s, 1s, 0s});
  row.data_wait_percent = 90;
  row.verdict = {Binds::cores, "decode", "jpg", 0.9, "the consumer waited 90 % of its time: decode"};
  row.stats.data_wait_by_stage = {{"plan", 0s}, {"read", 500ms}, {"decode", 3s}, {"transform", 0s}, {"deliver", 100ms}};
  report.result.rows.push_back(row);
  row.efficiency.reset();
  row.digest = 0xABC;
  report.result.rows.push_back(row);
  return report;
}

}  // namespace

TEST_CASE("the JSON has every promised field under its name") {
  const auto json = nlohmann::json::parse(penstock::to_json(sample_report()));
  for (const char* name : {"penstock", "machine", "dataset", "rows"}) CHECK(json.contains(name));
  const auto& row = json["rows"][0];
  for (const char* name :
       {"task", "workers", "prefetch", "batch_size", "engine", "engine_reason", "cache", "samples_per_s", "mb_per_s",
        "first_batch_ms", "data_wait_percent", "peak_rss_mb", "efficiency", "digest", "stages"})
    CHECK_MESSAGE(row.contains(name), name);
  CHECK(row["cache"] == "warm");
  CHECK(row["efficiency"] == 0.93);
  CHECK(row["digest"].is_null());
  CHECK(row["stages"]["read"]["busy_s"] == 1.0);
  CHECK(row["stages"]["read"]["input_wait_s"] == 2.0);
  CHECK(row["stages"]["read"]["room_wait_s"] == 0.5);
  CHECK(row["bottleneck"] == "decode");
  CHECK(json["rows"][1]["efficiency"].is_null());
  CHECK(json["rows"][1]["digest"] == "0000000000000abc");
}

TEST_CASE("the text names the rate, the efficiency and the stages") {
  const std::string text = penstock::to_text(sample_report());
  for (const char* part : {"1,234", "0.930 [0.910-0.950]", "0000000000000abc", "decode", "inline: resident"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
}

TEST_CASE("JSON, text and page have the verdict, and what the consumer waited for") {
  const std::string waits = "ata wait by stage: read 0.50 s, decode 3.00 s, deliver 0.10 s";
  const std::string verdict = "he consumer waited 90 % of its time: decode";
  const std::string text = penstock::to_text(sample_report()), html = penstock::to_html(sample_report());
  CHECK(text.find("  d" + waits + "\n") != std::string::npos);
  CHECK(text.find("  cores: t" + verdict + "\n") != std::string::npos);
  CHECK(html.find("<p>D" + waits + ".</p>") != std::string::npos);
  CHECK(html.find("<b>T" + verdict + ".</b>") != std::string::npos);
  const auto json = nlohmann::json::parse(penstock::to_json(sample_report()));
  CHECK(json["rows"][0]["data_wait_by_stage_s"]["decode"] == 3.0);
  CHECK(json["rows"][0]["verdict"]["binds"] == "cores");
  CHECK(json["rows"][0]["verdict"]["output"] == "jpg");
}

TEST_CASE("the bottleneck of the JSON is the verdict's stage, and the consumer where it is fed") {
  const auto bottleneck = [](Binds binds, const std::string& stage) {
    BenchReport report = sample_report();
    report.result.rows.front().verdict = {binds, stage, "", 0, ""};
    return nlohmann::json::parse(penstock::to_json(report))["rows"][0]["bottleneck"].get<std::string>();
  };
  CHECK(bottleneck(Binds::cores, "transform") == "transform");
  CHECK(bottleneck(Binds::storage_latency, "read") == "read");
  CHECK(bottleneck(Binds::consumer, "") == "consumer");
  CHECK(bottleneck(Binds::nothing, "") == "consumer");
  CHECK(bottleneck(Binds::unknown, "").empty());
}

TEST_CASE("the page is one file that escapes what it shows") {
  const std::string html = penstock::to_html(sample_report());
  CHECK(html.find("&lt;photos&gt;") != std::string::npos);
  CHECK(html.find("<photos>") == std::string::npos);
  CHECK(html.find("<svg") != std::string::npos);
  CHECK(html.find("http") == std::string::npos);
}

namespace {

// What a browser refuses to show as it was meant: a tag that is not closed by its own.
std::string first_unclosed(const std::string& html) {
  static const std::vector<std::string> kAlone{"meta", "rect", "line", "polyline", "polygon", "circle", "!DOCTYPE"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<', html.find("<body>")); at != std::string::npos; at = html.find('<', at + 1)) {
    const bool closes = html[at + 1] == '/';
    const std::size_t begin = at + 1 + closes;
    const std::size_t end = html.find_first_of(" >/", begin), last = html.find('>', begin);
    const std::string name = html.substr(begin, end - begin);
    if (html[last - 1] == '/' || std::ranges::find(kAlone, name) != kAlone.end()) continue;
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      if (name == "html") continue;  // opened before the body
      return name + " at " + html.substr(at, 60);
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

BenchReport full_report() {
  BenchReport report = sample_report();
  report.result.rows.pop_back();
  BenchRow& row = report.result.rows.front();
  row.setting.workers = 1;
  const auto start = std::chrono::steady_clock::time_point{} + 1h;
  for (int i = 0; i < 8; ++i)  // two rounds
    row.stats.levels.push_back({start + i * 100ms + (i < 4 ? 0s : 60s), static_cast<std::size_t>(i % 3), 2, 5, 4096});
  penstock::Histogram waits;
  for (std::uint64_t i = 1; i < 2000; ++i) waits.add(i * 10'000);
  row.stats.histograms.emplace_back("data_wait", waits.get());
  row.stats.histograms.emplace_back("read", penstock::Distribution{});
  row.stats.slowest.push_back({"<b>key</b>&'", "jpg", 7, 0, 70'000, 1ms, 30ms, 2ms});
  row.stats.slab_bytes = std::uint64_t{90} << 20;
  row.peak_memory_mb = 140;
  row.notes = "a \"note\" <script>";
  BenchRow second = row;
  second.setting.workers = 4;
  second.samples_per_s = {1100, 1000, 1200};
  report.result.rows.push_back(second);
  return report;
}

}  // namespace

TEST_CASE("the page has its sections in order: the verdict first, the machine last") {
  const std::string html = penstock::to_html(full_report());
  std::size_t last = 0;
  for (const char* heading :
       {"class=\"verdict waits\"", "levels over time", ": stages of", ": histograms of", "slowest samples of",
        "samples a second over workers", "All settings", ": memory of", ": configuration of", "<h2>Machine"}) {
    const std::size_t at = html.find(heading);
    REQUIRE_MESSAGE(at != std::string::npos, heading);
    CHECK_MESSAGE(at > last, heading);
    last = at;
  }
  CHECK(first_unclosed(html) == "");
  CHECK(html.find("prefers-color-scheme: dark") != std::string::npos);
  for (const char* outside : {"http", "src=", "href=", "@import", "url("})
    CHECK(html.find(outside) == std::string::npos);
}

TEST_CASE("no text of a dataset, and no number, becomes part of the page's code") {
  const std::string html = penstock::to_html(full_report());
  CHECK(html.find("&lt;b&gt;key&lt;/b&gt;&amp;&#39;") != std::string::npos);
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find("nan") == std::string::npos);
  CHECK(html.find("inf") == std::string::npos);
  CHECK(html.find("=\"-") == std::string::npos);  // nothing is drawn left of a picture, or of negative size
}

TEST_CASE("a page of rows without a loader, without samples or without figures is whole") {
  BenchReport report = sample_report();
  for (BenchRow& row : report.result.rows) {
    BenchRow empty;
    empty.setting = row.setting;
    row = empty;
  }
  const std::string html = penstock::to_html(report);
  CHECK(first_unclosed(html) == "");
  CHECK(html.find("nan") == std::string::npos);
  for (const char* absent : {"levels over time", "histograms", "slowest", ": memory of"})
    CHECK_MESSAGE(html.find(absent) == std::string::npos, absent);
}

TEST_CASE("a histogram shows where values lie, and a timeline is cut where nobody looked") {
  penstock::Histogram histogram;
  for (int i = 0; i < 90; ++i) histogram.add(1'000'000);
  for (int i = 0; i < 10; ++i) histogram.add(64'000'000);
  const std::string svg = penstock::html_histogram("reads <x>", histogram.get(), penstock::Quantity::time);
  CHECK(svg.find("100, p50 999 us, p90 999 us, p99 64.0 ms, max 64.0 ms") != std::string::npos);
  CHECK(svg.find(">10 ms<") != std::string::npos);
  CHECK(svg.find("reads &lt;x&gt;") != std::string::npos);
  CHECK(svg.find("height=\"104.0\"") != std::string::npos);  // the most frequent fills the picture
  CHECK(svg.find("height=\"11.6\"") != std::string::npos);   // a ninth of it
  CHECK(penstock::html_histogram("none", {}, penstock::Quantity::time).empty());

  const std::string line = penstock::html_timeline({0, 0.1, 0.2, 60, 60.1}, {{"ready", {0, 1, 2, 1, 0}, "2"}});
  CHECK(line.find("class=\"cut\"") != std::string::npos);
  CHECK(line.find("60 s") == std::string::npos);  // the axis has no place for a minute of nothing
  CHECK(penstock::html_timeline({0, 0.1, 0.2}, {{"ready", {0, 1, 2}, "2"}}).find("class=\"cut\"") == std::string::npos);
  CHECK(penstock::html_timeline({0}, {{"ready", {0}, "0"}}).empty());
  CHECK(penstock::html_timeline({5, 5, 5}, {{"ready", {0, 0, 0}, "0"}}).find("nan") == std::string::npos);
}

TEST_CASE("times are told in the unit that people would choose") {
  CHECK(penstock::duration_text(0) == "0 ns");
  CHECK(penstock::duration_text(999) == "999 ns");
  CHECK(penstock::duration_text(5400) == "5.4 us");
  CHECK(penstock::duration_text(54'000) == "54 us");
  CHECK(penstock::duration_text(3.25e6) == "3.2 ms");
  CHECK(penstock::duration_text(325e6) == "325 ms");
  CHECK(penstock::duration_text(1.5e9) == "1.5 s");
}

TEST_CASE("sizes are read as people write them") {
  CHECK(penstock::parse_size("4096", "limit") == 4096);
  CHECK(penstock::parse_size("256MiB", "limit") == std::uint64_t{256} << 20);
  CHECK(penstock::parse_size("1.5k", "limit") == 1536);
  CHECK(penstock::parse_size("2GB", "limit") == 2'000'000'000);
  for (const char* text : {"", "MiB", "-1", "1X", "1MiBs", "nan", "1e30"})
    CHECK_THROWS_WITH_AS(penstock::parse_size(text, "limit"), doctest::Contains("limit must be a size such as"),
                         penstock::Error);
  CHECK(penstock::with_commas(1234567) == "1,234,567");
  CHECK(penstock::with_commas(999) == "999");
  CHECK(penstock::bytes_text(std::uint64_t{256} << 20) == "256.0 MiB");
  CHECK(penstock::seconds_text(3725) == "1:02:05");
}

}  // namespace penstock::test::report_test
