#include <nlohmann/json.hpp>
#include <string>

#include <doctest/doctest.h>

#include <penstock/base/error.hpp>
#include <penstock/bench/measure/bottleneck.hpp>
#include <penstock/bench/report/report.hpp>
#include <penstock/bench/report/units.hpp>

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
  row.engine = "direct";
  row.engine_reason = "resident";
  row.samples_per_s = {1234.5, 1200, 1300};
  row.efficiency = penstock::Spread{0.93, 0.91, 0.95};
  row.loop_samples_per_s = 1327;
  row.resident_share = 1;
  row.rounds = 10;
  row.samples = 5000;
  row.seconds = 4;
  row.stages.push_back({"read", 2, 1s, 2s, 500ms});
  row.stages.push_back({"decode", 2, 6s, 1s, 0s});
  row.stall_percent = 90;
  row.waited_for = {{"plan", 0s}, {"read", 500ms}, {"decode", 3s}, {"transform", 0s}, {"deliver", 100ms}};
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
        "first_batch_ms", "stall_percent", "peak_rss_mb", "efficiency", "digest", "stages"})
    CHECK_MESSAGE(row.contains(name), name);
  CHECK(row["cache"] == "warm");
  CHECK(row["efficiency"] == 0.93);
  CHECK(row["digest"].is_null());
  CHECK(row["stages"]["read"]["busy_s"] == 1.0);
  CHECK(row["stages"]["read"]["stalled_in_s"] == 2.0);
  CHECK(row["stages"]["read"]["stalled_out_s"] == 0.5);
  CHECK(row["bottleneck"] == "decode");
  CHECK(json["rows"][1]["efficiency"].is_null());
  CHECK(json["rows"][1]["digest"] == "0000000000000abc");
}

TEST_CASE("the text names the rate, the efficiency and the stages") {
  const std::string text = penstock::to_text(sample_report());
  for (const char* part : {"1,234", "0.930 [0.910-0.950]", "0000000000000abc", "decode", "direct: resident"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
}

TEST_CASE("the bottleneck is what the consumer waited for longest, and the consumer where it hardly waited") {
  BenchRow row = sample_report().result.rows.front();
  CHECK(penstock::bottleneck(row) == "decode");
  CHECK(penstock::waits_text(row) ==
        "the consumer waited for: read 0.50 s, decode 3.00 s, deliver 0.10 s; the bottleneck is decode");
  row.stages[0].busy = 100s;  // reads under way all the time do not make storage the limit
  CHECK(penstock::bottleneck(row) == "decode");
  row.waited_for.back() = {"deliver", 4s};
  CHECK(penstock::bottleneck(row) == "deliver");
  row.stall_percent = 5;
  CHECK(penstock::bottleneck(row) == "deliver");
  row.stall_percent = 4.9;
  CHECK(penstock::bottleneck(row) == "consumer");
  CHECK(penstock::waits_text(row).ends_with("; the bottleneck is the consumer"));
  row.waited_for.clear();
  CHECK(penstock::bottleneck(row).empty());
  CHECK(penstock::waits_text(row).empty());
}

TEST_CASE("text and page say what the consumer waited for, and what the bottleneck is") {
  const std::string said =
      "he consumer waited for: read 0.50 s, decode 3.00 s, deliver 0.10 s; the bottleneck is decode";
  CHECK(penstock::to_text(sample_report()).find("  t" + said + "\n") != std::string::npos);
  CHECK(penstock::to_html(sample_report()).find("<p>T" + said + ".</p>") != std::string::npos);
  const auto json = nlohmann::json::parse(penstock::to_json(sample_report()));
  CHECK(json["rows"][0]["waited_for_s"]["decode"] == 3.0);
}

TEST_CASE("the page is one file that escapes what it shows") {
  const std::string html = penstock::to_html(sample_report());
  CHECK(html.find("&lt;photos&gt;") != std::string::npos);
  CHECK(html.find("<photos>") == std::string::npos);
  CHECK(html.find("<svg") != std::string::npos);
  CHECK(html.find("http") == std::string::npos);
}

TEST_CASE("sizes are read as people write them") {
  CHECK(penstock::parse_size("4096") == 4096);
  CHECK(penstock::parse_size("256MiB") == std::uint64_t{256} << 20);
  CHECK(penstock::parse_size("1.5k") == 1536);
  CHECK(penstock::parse_size("2GB") == 2'000'000'000);
  for (const char* text : {"", "MiB", "-1", "1X", "1MiBs", "nan", "1e30"})
    CHECK_THROWS_AS(penstock::parse_size(text), penstock::Error);
  CHECK(penstock::with_commas(1234567) == "1,234,567");
  CHECK(penstock::with_commas(999) == "999");
  CHECK(penstock::bytes_text(std::uint64_t{256} << 20) == "256.0 MiB");
  CHECK(penstock::seconds_text(3725) == "1:02:05");
}

}  // namespace penstock::test::report_test
