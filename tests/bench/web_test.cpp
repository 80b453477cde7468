// Tests the paths of the live page, what it remembers of loaders, and the words about them.
#include <nlohmann/json.hpp>
#include <set>

#include <doctest/doctest.h>

#include <bench/watch/diagnosis.hpp>
#include <bench/watch/ranks.hpp>
#include <bench/watch/top_json.hpp>
#include <bench/web/history.hpp>
#include <bench/web/page.hpp>
#include <bench/web/site.hpp>
#include <bench/web/token.hpp>

namespace penstock::test::web_test {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;

constexpr auto kStart = std::chrono::steady_clock::time_point{} + 1h;

/// A loader that publishes in every second of a run.
WatchedLoader loader_at(std::uint64_t pid, std::chrono::seconds run, double data_wait = 0) {
  WatchedLoader loader{.user = 7, .view = {}, .program = "train", .here = true, .stopped = false};
  loader.view.page = {.process = {.pid_namespace = 1, .pid = pid, .start = 5}, .number = 1};
  loader.view.shown = (kStart + run).time_since_epoch();
  loader.view.next = loader.view.shown + 100ms;
  Figures& figures = loader.view.figures;
  figures.rank = pid;
  figures.world = 4;
  figures.wall = run;
  figures.data_wait = std::chrono::nanoseconds(static_cast<std::int64_t>(data_wait * 1e9) * run.count());
  figures.batches_taken = static_cast<std::uint64_t>(10 * run.count());
  figures.samples = 10 * figures.batches_taken;
  figures.stage_count = 1;
  figures.stages[0] = {
      .kind = StageKind::decode, .threads = 1, .data_wait = static_cast<std::uint64_t>(figures.data_wait.count())};
  return loader;
}

Look look_at(std::chrono::seconds run, std::vector<WatchedLoader> loaders) {
  Look look;
  look.at = kStart + run;
  look.watched.loaders = std::move(loaders);
  return look;
}

std::chrono::system_clock::time_point time_at(std::int64_t seconds) {
  return std::chrono::system_clock::time_point{} + std::chrono::seconds(seconds);
}

TEST_CASE("tokens are random, and only the same one is accepted") {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(random_token());
  CHECK(tokens.size() == 100);
  const std::string token = *tokens.begin();
  CHECK(token.size() == 32);
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(same_token(token, token));
  CHECK(!same_token("", token));
  CHECK(!same_token(token + "0", token));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string wrong = token;
    wrong[i] ^= 1;
    CHECK(!same_token(wrong, token));
  }
}

TEST_CASE("only paths with the token are answered, below any prefix") {
  const LiveSite site(1s);
  const std::string& token = site.token();
  for (const std::string prefix : {"/", "/user/x/proxy/8080/", "/a//b/"}) {
    CHECK(site.answer(prefix + token + "/").status == "200 OK");
    CHECK(site.answer(prefix + token + "/").type == "text/html; charset=utf-8");
    const HttpAnswer data = site.answer(prefix + token + "/data.json");
    CHECK(data.status == "200 OK");
    CHECK(Json::parse(data.body) == Json{{"interval_s", 1.0}});
    const HttpAnswer moved = site.answer(prefix + token);
    CHECK(moved.status == "307 Temporary Redirect");
    CHECK(moved.headers.find("Location: " + token + "/\r\n") != std::string::npos);
  }
  std::string wrong = token;
  wrong.back() ^= 1;
  const std::vector<std::string> refused{"",
                                         "/",
                                         "/data.json",
                                         "/" + wrong + "/",
                                         "/" + wrong + "/data.json",
                                         "/" + wrong,
                                         "/" + token + "/x",
                                         "/" + token + "/x/",
                                         "/" + token + "/data.json/",
                                         "/" + token.substr(1) + "/",
                                         "/" + token + "0/",
                                         "/" + token + "/" + wrong + "/data.json",
                                         "//",
                                         "/../" + token + "/.."};
  for (const std::string& path : refused) {
    const HttpAnswer answer = site.answer(path);
    CHECK_MESSAGE(answer.status == "404 Not Found", path);
    CHECK(answer.body.find(token) == std::string::npos);
    CHECK(answer.headers.empty());
  }
}

TEST_CASE("the page names no address, and its policy allows only its own data") {
  const LiveSite site(1s);
  const HttpAnswer page = site.answer("/" + site.token() + "/");
  const std::string svg = "http://www.w3.org/2000/svg";  // a name, which nothing loads
  std::string text = page.body;
  text.erase(text.find(svg), svg.size());
  for (const char* address : {"http:", "https:", "//www", "src=", "@import", "url("})
    CHECK_MESSAGE(text.find(address) == std::string::npos, address);
  CHECK(text.find("innerHTML") == std::string::npos);
  CHECK(text.find(site.token()) == std::string::npos);
  CHECK(page.headers.find("default-src 'none'; script-src 'nonce-") != std::string::npos);
  CHECK(page.headers.find("unsafe") == std::string::npos);
  CHECK(page.headers.find("Cache-Control: no-store\r\n") != std::string::npos);
  CHECK(page.headers != site.answer("/" + site.token() + "/").headers);  // a nonce is used once
}

TEST_CASE("the history has the rates of the last looks, and the loaders that have ended") {
  WatchHistory history;
  CHECK(history.json().is_null());
  history.add(look_at(1s, {loader_at(1, 1s), loader_at(2, 1s)}), time_at(1));
  CHECK(history.json().is_null());
  history.add(look_at(2s, {loader_at(1, 2s, 0.25), loader_at(2, 2s)}), time_at(2));
  Json json = history.json();
  CHECK(json["looks"] == 1);
  CHECK(json["time"] == 2.0);
  REQUIRE(json["loaders"].size() == 2);
  CHECK(json["loaders"][0]["history"]["samples_per_s"] == Json{100.0});
  CHECK(json["ended"].empty());

  history.add(look_at(3s, {loader_at(1, 3s)}), time_at(3));
  json = history.json();
  REQUIRE(json["ended"].size() == 1);
  CHECK(json["ended"][0]["pid"] == 2);
  CHECK(json["ended"][0]["samples"] == 200);
  CHECK(json["ended"][0]["ended_at"] == 3.0);
  CHECK(json["loaders"][0]["history"]["samples_per_s"] == Json{100.0, 100.0});

  history.add(look_at(4s, {loader_at(1, 4s), loader_at(2, 4s)}), time_at(4));  // it was only unreadable
  CHECK(history.json()["ended"].empty());

  for (std::int64_t second = 5; second < 300; ++second)
    history.add(look_at(std::chrono::seconds(second), {loader_at(1, std::chrono::seconds(second))}), time_at(second));
  CHECK(history.json()["loaders"][0]["history"]["data_wait"].size() == WatchHistory::kPoints);

  for (std::uint64_t pid = 10; pid < 60; ++pid) {  // each ends with the next look
    const auto second = static_cast<std::int64_t>(290 + pid);
    history.add(look_at(std::chrono::seconds(second), {loader_at(pid, 1s)}), time_at(second));
  }
  json = history.json();
  REQUIRE(json["ended"].size() == WatchHistory::kEnded);
  CHECK(json["ended"][0]["pid"] == 58);
}

TEST_CASE("a step is split into the waits for stages and the program's own time") {
  const Look before = look_at(1s, {loader_at(1, 1s, 0.25)}), after = look_at(2s, {loader_at(1, 2s, 0.25)});
  const Json step = top_object(before, after)["loaders"][0]["step"];
  CHECK(step == Json::parse(R"([{"name": "wait: decode", "share": 0.25}, {"name": "your program", "share": 0.75}])"));
}

TEST_CASE("ranks of one training are compared, and the slow one is named") {
  const Look before = look_at(1s, {loader_at(3, 1s, 0.5), loader_at(1, 1s), loader_at(2, 1s)});
  const Look after = look_at(2s, {loader_at(3, 2s, 0.5), loader_at(1, 2s), loader_at(2, 2s)});
  const Json trainings = top_object(before, after)["trainings"];
  REQUIRE(trainings.size() == 1);
  CHECK(trainings[0]["world"] == 4);
  CHECK(trainings[0]["loaders"] == Json{1, 2, 0});
  CHECK(trainings[0]["slow"] == 0);
  CHECK(trainings[0]["text"].get<std::string>().starts_with("rank 3 is the slow one"));
  std::vector<LoaderUse> uses = uses_between(before, after);
  WatchedLoader other = *uses[0].loader;
  other.program = "evaluate";
  uses.push_back({.loader = &other, .state = "running", .stages = {}, .step = {}});
  CHECK(trainings_of(uses).size() == 1);
  CHECK(trainings_of({uses[0], uses[3]}).empty());
  CHECK(trainings_of({uses[0]}).empty());
  CHECK(trainings_of({uses[0], uses[1], uses[0]}).empty());  // the same rank twice
}

TEST_CASE("every bottleneck and every state has its words") {
  WatchedLoader loader = loader_at(1, 1s, 0.31);
  LoaderUse use{.loader = &loader, .state = "running", .stages = {}, .step = {}};
  std::set<std::string> texts;
  constexpr auto kLast = static_cast<std::uint64_t>(Binds::sharing);
  for (std::uint64_t binds = 0; binds <= kLast; ++binds) {
    loader.view.figures.binds = binds;
    const std::string text = diagnosis_text(use);
    CHECK(text.ends_with("."));
    CHECK(
        text.starts_with("Since its start, the training loop waited 31 % of its time, mostly for the stage decode. ") !=
        (static_cast<Binds>(binds) == Binds::start_up));
    texts.insert(text);
  }
  for (const char* state : {"stopped", "waiting", "idle"}) {
    use.state = state;
    use.for_s = 41;
    texts.insert(diagnosis_text(use));
  }
  CHECK(texts.size() == kLast + 1 + 3);
  CHECK(diagnosis_text(use) == "The program has not asked for a batch for 41 s.");
}

}  // namespace penstock::test::web_test
