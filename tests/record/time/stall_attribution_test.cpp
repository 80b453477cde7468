// Tests how waits of the consumer are attributed, with clocks made by hand: every part of every wait.
#include <map>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <loader/fetch/row_task.hpp>
#include <loader/fetch/task_queue.hpp>
#include <record/time/stall_attribution.hpp>

namespace penstock::test::stall_attribution_test {

using std::chrono::milliseconds;

namespace {

Clock::time_point at(std::int64_t ms) {
  return Clock::time_point(std::chrono::hours(1)) + milliseconds(ms);
}

ActivityTimes times(std::int64_t read, std::int64_t decode, std::int64_t transform, std::int64_t deliver) {
  ActivityTimes made{};
  made[Activity::read] = milliseconds(read);
  made[Activity::decode] = milliseconds(decode);
  made[Activity::transform] = milliseconds(transform);
  made[Activity::deliver] = milliseconds(deliver);
  return made;
}

using Parts = std::map<std::string, milliseconds>;  // those that are not zero; rounded down

Parts parts_of(const ActivityTimes& made) {
  constexpr std::array<const char*, Activity::count> names{"plan",    "read",    "decode", "transform",
                                                           "deliver", "no slab", "no room"};
  Parts parts;
  for (std::size_t kind = 0; kind < made.size(); ++kind) {
    if (made[kind].count() != 0) parts[names[kind]] = std::chrono::duration_cast<milliseconds>(made[kind]);
  }
  return parts;
}

/// Who the workers' input comes from, and the stages behind the first.
struct Terms {
  bool reads_ahead = false;
  std::optional<std::string> own = {};
  bool copies = false;
};

/// A consumer, a scheduler and two workers whose times the test makes up.
struct Scene {
  explicit Scene(const Terms& terms = {}) : stalls(scheduler, workers, terms.reads_ahead) {
    stalls.add_stage("deliver", false);
    if (terms.own) stalls.add_stage(*terms.own, false);
    if (terms.copies) stalls.add_stage("copy", true);
    for (int i = 0; i < 2; ++i) workers.push_back(std::make_unique<WorkLog>());
  }
  /// One wait.
  Parts wait(std::int64_t from, std::int64_t to, const Journey* journey) {
    stalls.begin(at(from));
    stalls.end(at(to), journey);
    return parts();
  }
  Parts wait(std::int64_t from, std::int64_t to, const Journey& journey) { return wait(from, to, &journey); }
  Stats stats() const {
    Stats stats;
    stalls.report(stats);
    return stats;
  }
  Parts parts() const {
    Parts parts;
    for (const auto& [stage, time] : stats().data_wait_by_stage) {
      if (time.count() != 0) parts[stage] = std::chrono::duration_cast<milliseconds>(time);
    }
    return parts;
  }
  Journey by(std::size_t worker, std::int64_t sent, std::int64_t queued, std::int64_t finished) const {
    return {.sent = at(sent), .queued = at(queued), .finished = at(finished), .worker = workers[worker].get()};
  }

  WorkLog scheduler;
  WorkLogs workers;
  StallAttribution stalls;
};

Parts ms(std::initializer_list<std::pair<const std::string, int>> parts) {
  Parts made;
  for (const auto& [stage, time] : parts) made[stage] = milliseconds(time);
  return made;
}

}  // namespace

TEST_CASE("a wait is cut where the awaited rows passed from stage to stage") {
  Scene scene({.reads_ahead = true, .own = "own", .copies = true});
  scene.scheduler.add(at(0), Activity::plan, milliseconds(10));
  scene.workers[0]->add(at(30), times(0, 0, 0, 7));
  scene.workers[0]->add(at(40), times(1, 8, 16, 5));
  Journey journey = scene.by(0, 10, 30, 70);
  journey.passed = {at(100), at(150)};
  CHECK(scene.wait(0, 153, journey) == ms({{"plan", 10},
                                           {"read", 20 + 1},
                                           {"decode", 8},
                                           {"transform", 16},
                                           {"deliver", 7 + 3 + 5 + 3},
                                           {"own", 30},
                                           {"copy", 50}}));
}

TEST_CASE("of a wait counts only what was done during it") {
  Scene scene({.own = "own", .copies = true});
  scene.scheduler.add(at(0), Activity::plan, milliseconds(20));
  scene.workers[0]->add(at(20), times(20, 20, 20, 20));
  Journey journey = scene.by(0, 20, 20, 100);
  journey.passed = {at(120), at(140)};
  SUBCASE("planned") {
    CHECK(scene.wait(5, 17, journey) == ms({{"plan", 12}}));
  }
  SUBCASE("read") {
    CHECK(scene.wait(25, 35, journey) == ms({{"read", 10}}));
  }
  SUBCASE("decoded") {
    CHECK(scene.wait(50, 75, journey) == ms({{"decode", 10}, {"transform", 15}}));
  }
  SUBCASE("stepped") {
    CHECK(scene.wait(105, 115, journey) == ms({{"own", 10}}));
  }
  SUBCASE("copied") {
    CHECK(scene.wait(125, 135, journey) == ms({{"copy", 10}}));
  }
  SUBCASE("there") {
    CHECK(scene.wait(150, 155, journey) == ms({{"deliver", 5}}));
  }
}

TEST_CASE("one row holds a batch up: its stage is what counts, whatever idle workers and the scheduler do") {
  for (const bool reads_ahead : {false, true}) {
    Scene scene({.reads_ahead = reads_ahead});
    scene.scheduler.add(at(0), Activity::plan, milliseconds(1));
    scene.scheduler.add(at(1), Activity::no_slab, milliseconds(99));
    scene.workers[0]->add(at(1), times(0, 2, 0, 0));
    scene.workers[1]->add(at(1), times(0, 2, 97, 0));
    CHECK(scene.wait(20, 100, scene.by(1, 1, 1, 100)) == ms({{"transform", 80}}));
  }
}

TEST_CASE("rows that queue wait for what their worker had to do before") {
  Scene scene;
  scene.workers[0]->add(at(0), times(0, 30, 0, 0));  // of a batch before, or of one behind
  scene.workers[0]->add(at(30), times(0, 0, 20, 0));
  scene.workers[1]->add(at(0), times(0, 0, 0, 50));
  CHECK(scene.wait(10, 50, scene.by(0, 5, 5, 50)) == ms({{"decode", 20}, {"transform", 20}}));
}

TEST_CASE("without a slab, the consumer waits for what the workers are at") {
  Scene scene;
  scene.scheduler.add(at(0), Activity::no_slab, milliseconds(40));
  scene.scheduler.add(at(40), Activity::plan, milliseconds(10));
  scene.workers[0]->add(at(0), times(0, 10, 0, 0));
  SUBCASE("one of them") {
    CHECK(scene.wait(0, 50, scene.by(0, 50, 50, 50)) == ms({{"decode", 10}, {"deliver", 30}, {"plan", 10}}));
  }
  SUBCASE("or both, who share the time") {
    scene.workers[0]->add(at(10), times(0, 30, 0, 0));
    scene.workers[1]->add(at(0), times(0, 0, 40, 0));
    CHECK(scene.wait(0, 50, scene.by(0, 50, 50, 50)) == ms({{"decode", 20}, {"transform", 20}, {"plan", 10}}));
  }
  SUBCASE("or for the copies that have the slabs") {
    Scene copying({.reads_ahead = true, .copies = true});
    copying.scheduler.add(at(0), Activity::no_slab, milliseconds(40));
    copying.scheduler.add(at(40), Activity::no_room, milliseconds(20));
    CHECK(copying.wait(0, 60, copying.by(0, 60, 60, 60)) == ms({{"copy", 40}, {"read", 20}}));
  }
}

TEST_CASE("without room in the read window, the consumer waits for the workers, or else for reads") {
  Scene scene({.reads_ahead = true});
  scene.scheduler.add(at(0), Activity::no_room, milliseconds(40));
  scene.workers[1]->add(at(30), times(0, 0, 10, 0));
  CHECK(scene.wait(10, 40, scene.by(0, 40, 40, 40)) == ms({{"read", 20}, {"transform", 10}}));
}

TEST_CASE("where the scheduler planned and waited in turn, the workers count for its waits alone") {
  using std::chrono::microseconds;
  Scene scene;
  scene.scheduler.add(at(0), Activity::plan, microseconds(100));
  scene.scheduler.add(at(0) + microseconds(100), Activity::no_slab, microseconds(100));
  scene.workers[0]->add(at(0), times(0, 4, 0, 0));
  const Journey journey{.sent = at(0) + microseconds(200)};
  scene.stalls.begin(at(0));
  scene.stalls.end(at(0) + microseconds(200), &journey);
  for (const auto& [stage, time] : scene.stats().data_wait_by_stage)
    CHECK(time == microseconds(stage == "plan" || stage == "decode" ? 100 : 0));
}

TEST_CASE("a scheduler that has written nothing down has planned") {
  Scene scene;
  scene.scheduler.add(at(20), Activity::plan, milliseconds(5));
  CHECK(scene.wait(0, 30, scene.by(0, 30, 30, 30)) == ms({{"plan", 30}}));
}

TEST_CASE("a batch that no worker had is delivered by the scheduler") {
  Scene scene;
  scene.scheduler.add(at(0), Activity::plan, milliseconds(10));
  const Journey journey{.sent = at(10), .queued = at(10), .finished = at(12)};
  CHECK(scene.wait(4, 14, journey) == ms({{"plan", 6}, {"deliver", 4}}));
}

TEST_CASE("a wait that ends without a batch counts for what the workers do; idle ones wait for input") {
  for (const bool reads_ahead : {false, true}) {
    Scene scene({.reads_ahead = reads_ahead});
    scene.workers[0]->add(at(0), times(0, 10, 0, 0));
    scene.workers[1]->open(at(30));
    scene.workers[1]->reading(true);
    Parts expected = ms({{"decode", 10}, {"read", 20}});
    expected[reads_ahead ? "read" : "plan"] += milliseconds(20);
    CHECK(scene.wait(0, 50, nullptr) == expected);
  }
}

TEST_CASE("the parts add up to the wait exactly, whatever was written down") {
  Scene scene({.reads_ahead = true, .own = "own", .copies = true});
  std::uint64_t state = 7;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33) % below);
  };
  std::int64_t scheduler = 0, now = 0;
  std::array<std::int64_t, 2> busy{};
  for (int i = 0; i < 500; ++i) {
    const auto us = [](std::int64_t value) { return at(0) + std::chrono::microseconds(value); };
    const std::int64_t fed = draw(3000);
    constexpr std::array kinds{Activity::plan, Activity::no_slab, Activity::no_room};
    scene.scheduler.add(us(scheduler), kinds[static_cast<std::size_t>(draw(3))], std::chrono::microseconds(fed));
    scheduler += fed + draw(50);
    for (std::size_t worker = 0; worker < 2; ++worker) {
      ActivityTimes made{};
      for (const Activity::Kind kind : {Activity::read, Activity::decode, Activity::transform, Activity::deliver})
        made[kind] = nanoseconds(draw(700001));
      scene.workers[worker]->add(us(busy[worker]), made);
      busy[worker] += sum_of(made).count() / 1000 + 1 + draw(300);
    }
    Journey journey{.worker = scene.workers[static_cast<std::size_t>(draw(2))].get(), .passed = {{}, {}}};
    std::int64_t point = now;
    for (Clock::time_point* next :
         {&journey.sent, &journey.queued, &journey.finished, &journey.passed[0], &journey.passed[1]})
      *next = us(point += draw(500));
    scene.stalls.begin(us(now + draw(100)));
    now = point + draw(20) + 100;
    scene.stalls.end(us(now), draw(10) == 0 ? nullptr : &journey);
    const Stats stats = scene.stats();
    nanoseconds sum{};
    for (const auto& [stage, time] : stats.data_wait_by_stage) {
      REQUIRE(time.count() >= 0);
      sum += time;
    }
    REQUIRE(sum == stats.data_wait);
  }
}

TEST_CASE("the stages stand in their order, those behind only where there are any") {
  const auto names = [](const Scene& scene) {
    std::string all;
    for (const auto& [stage, time] : scene.stats().data_wait_by_stage) all += stage + " ";
    return all;
  };
  CHECK(names(Scene()) == "plan read decode transform deliver ");
  CHECK(names(Scene({.own = "own"})) == "plan read decode transform deliver own ");
  CHECK(names(Scene({.own = "", .copies = true})) == "plan read decode transform deliver  copy ");
}

TEST_CASE("the consumer waits or works from its first next() on, and what it got is counted") {
  Scene scene;
  CHECK(scene.stats().wall == nanoseconds{});
  scene.stalls.begin(at(0));
  CHECK(scene.stats().wall == nanoseconds{});  // a wait counts when it is over
  scene.stalls.end(at(10), nullptr);
  scene.stalls.got_batch(4, 100, 100 / 2, at(11));
  CHECK(scene.stats().first_batch == milliseconds(11));
  CHECK(scene.stats().wall == milliseconds(10));
  scene.wait(40, 45, nullptr);
  scene.stalls.got_batch(3, 50, 50 / 2, at(45));
  scene.wait(46, 46, nullptr);
  const Stats stats = scene.stats();
  CHECK(stats.data_wait == milliseconds(15));
  CHECK(stats.step_time == milliseconds(31));
  CHECK(stats.wall == milliseconds(46));
  CHECK(stats.first_batch == milliseconds(11));
  CHECK(stats.samples == 7);
  CHECK(stats.batches == 2);
  CHECK(stats.bytes_delivered == 150);
}

TEST_CASE(
    "the first batch counts from the first next(), also where it ended without one, and not from what the program did "
    "before") {
  Scene scene;
  scene.wait(300, 320, nullptr);  // a batch that failed
  scene.stalls.reset(at(325));
  scene.wait(330, 340, nullptr);
  scene.stalls.got_batch(4, 100, 100 / 2, at(340));
  scene.wait(350, 400, nullptr);
  scene.stalls.got_batch(4, 100, 100 / 2, at(400));
  CHECK(scene.stats().first_batch == milliseconds(40));
  Scene ready;  // batches were there before the loop came for them
  ready.wait(500, 500, nullptr);
  ready.stalls.got_batch(4, 100, 100 / 2, at(500));
  ready.wait(510, 600, nullptr);
  ready.stalls.got_batch(4, 100, 100 / 2, at(600));
  CHECK(ready.stats().first_batch == nanoseconds{});
}

TEST_CASE("reset forgets all but the first batch, and what is left of a wait under way counts") {
  Scene scene;
  scene.wait(0, 10, nullptr);
  scene.stalls.got_batch(4, 100, 100 / 2, at(10));
  scene.stalls.reset(at(12));
  Stats stats = scene.stats();
  CHECK(stats.samples + stats.batches + stats.bytes_delivered == 0);
  CHECK(stats.first_batch == milliseconds(10));
  CHECK(stats.data_wait + stats.step_time + stats.wall == nanoseconds{});
  CHECK(scene.parts().empty());
  scene.wait(100, 101, nullptr);  // what the consumer did before it is not counted
  CHECK(scene.stats().step_time == nanoseconds{});
  CHECK(scene.stats().wall == milliseconds(1));
  scene.stalls.begin(at(110));
  scene.stalls.reset(at(115));
  scene.stalls.end(at(120), nullptr);
  stats = scene.stats();
  CHECK(stats.data_wait == milliseconds(5));
  CHECK(stats.wall == milliseconds(5));
  CHECK(scene.parts() == ms({{"plan", 5}}));
}

TEST_CASE("a wait ends also where nothing was got, and where it is left by an exception") {
  Scene scene;
  const auto leave = [&] {
    const Waiting waiting(scene.stalls);
    throw 7;
  };
  CHECK_THROWS_AS(leave(), int);
  CHECK(scene.stats().data_wait > nanoseconds{});
  CHECK(scene.stats().data_wait_by_stage.front().second == scene.stats().data_wait);
  scene.stalls.reset(Clock::now());
  const Journey journey{.sent = {}, .queued = Clock::now() + std::chrono::hours(1)};
  {
    Waiting waiting(scene.stalls);
    waiting.got(journey);
  }
  CHECK(scene.stats().data_wait_by_stage[1].second == scene.stats().data_wait);
}

TEST_CASE("a log tells what was done between two points of time") {
  WorkLog log;
  CHECK(parts_of(log.between(at(0), at(100))).empty());
  log.add(at(0), times(10, 20, 30, 40));
  log.add(at(200), times(0, 5, 0, 0));
  CHECK(parts_of(log.between(at(0), at(300))) ==
        ms({{"read", 10}, {"decode", 25}, {"transform", 30}, {"deliver", 40}}));
  CHECK(parts_of(log.between(at(100), at(200))).empty());
  CHECK(parts_of(log.between(at(5), at(35))) == ms({{"read", 5}, {"decode", 20}, {"transform", 5}}));
  CHECK(parts_of(log.between(at(50), at(202))) == ms({{"transform", 10}, {"deliver", 40}, {"decode", 2}}));
  CHECK(parts_of(log.between(at(-5), at(1))) == ms({{"read", 1}}));
  CHECK(parts_of(log.between(at(204), at(204))).empty());
}

TEST_CASE("short spans that touch become one, of which each part has its share") {
  using std::chrono::microseconds;
  WorkLog log;
  ActivityTimes decode{}, transform{};
  decode[Activity::decode] = microseconds(100);
  transform[Activity::transform] = microseconds(60);
  transform[Activity::deliver] = microseconds(40);
  log.add(at(0), decode);
  log.add(at(0) + microseconds(100), transform);
  const ActivityTimes half = log.between(at(0), at(0) + microseconds(100));
  CHECK(half[Activity::decode] == microseconds(50));
  CHECK(half[Activity::transform] == microseconds(30));
  CHECK(half[Activity::deliver] == microseconds(20));
  log.add(at(0) + microseconds(200), decode);  // as long as kShort by now: a span of its own
  ActivityTimes apart{};
  apart[Activity::read] = microseconds(20);
  log.add(at(0) + microseconds(310), apart);  // and one that does not touch
  CHECK(log.between(at(0), at(0) + microseconds(200)) ==
        ActivityTimes{nanoseconds{}, nanoseconds{}, microseconds(100), microseconds(60), microseconds(40)});
  CHECK(log.between(at(0) + microseconds(200), at(1))[Activity::decode] == microseconds(100));
  CHECK(parts_of(log.between(at(0) + microseconds(300), at(0) + microseconds(310))).empty());
  CHECK(log.between(at(0) + microseconds(300), at(1))[Activity::read] == microseconds(20));
}

TEST_CASE("what a log has forgotten counts as what it remembers") {
  WorkLog log(4);
  for (std::int64_t i = 0; i < 10; ++i) log.add(at(i * 10), times(0, i < 6 ? 10 : 2, i < 6 ? 0 : 6, 0));
  CHECK(parts_of(log.between(at(80), at(100))) == ms({{"decode", 4}, {"transform", 12}}));
  CHECK(parts_of(log.between(at(60), at(100))) == ms({{"decode", 8}, {"transform", 24}}));
  CHECK(parts_of(log.between(at(20), at(100))) == ms({{"decode", 16}, {"transform", 48}}));
  CHECK(parts_of(log.between(at(20), at(50))).empty());
}

TEST_CASE("work that is not over counts as a read inside one, else as decoding") {
  WorkLog log;
  log.open(at(10));
  CHECK(parts_of(log.between(at(0), at(30))) == ms({{"decode", 20}}));
  CHECK(parts_of(log.between(at(20), at(30))) == ms({{"decode", 10}}));
  CHECK(parts_of(log.between(at(0), at(10))).empty());
  log.add(at(10), times(0, 0, 15, 0), true);
  nanoseconds sum{};
  {
    const ReadTime time(&log, sum);
    CHECK(parts_of(log.between(at(0), at(30))) == ms({{"transform", 15}, {"read", 5}}));
  }
  CHECK(sum > nanoseconds{});
  CHECK(parts_of(log.between(at(0), at(30))) == ms({{"transform", 15}, {"decode", 5}}));
  log.add(at(25), times(0, 0, 10, 0));
  CHECK(parts_of(log.between(at(0), at(50))) == ms({{"transform", 25}}));
}

TEST_CASE("a read that throws has taken its time") {
  nanoseconds sum{};
  const auto fail = [&] {
    const ReadTime time(nullptr, sum);
    throw 7;
  };
  CHECK_THROWS_AS(fail(), int);
  CHECK(sum > nanoseconds{});
}

TEST_CASE("workers lack room while the scheduler waits for some and no reads are under way") {
  TaskQueue tasks;
  tasks.call_by(3, [] { return true; }, {});
  RowTask task, another;
  task.read_ahead = another.read_ahead = true;
  tasks.waits_for_room(at(0), true);
  CHECK(tasks.without_room(at(10)) == milliseconds(10));
  tasks.waits_for_room(at(10), false);
  tasks.sent(2, at(15));
  tasks.waits_for_room(at(20), true);
  CHECK(tasks.without_room(at(30)) == milliseconds(10));
  tasks.push(task, at(30));
  CHECK(tasks.without_room(at(40)) == milliseconds(10));
  tasks.push(another, at(40));
  CHECK(tasks.without_room(at(50)) == milliseconds(20));
  CHECK(tasks.reading(at(50)) == milliseconds(25));
  CHECK(task.queued == at(30));
  CHECK(tasks.size() == 2);
  tasks.waits_for_room(at(60), false);
  CHECK(tasks.without_room(at(70)) == milliseconds(30));
  RowTask own;
  tasks.push(own, at(70));  // whose rows the workers read
  CHECK(tasks.reading(at(80)) == milliseconds(25));
  for (const RowTask* expected : {&task, &another, &own}) CHECK(tasks.first({})->task == expected);
  tasks.push(task);
  tasks.close();
  CHECK(!tasks.first({}));
}

TEST_CASE("as many workers are called as there are tasks, where as many are idle") {
  TaskQueue tasks;
  TaskQueue::Idle idle;
  unsigned calls = 0;
  tasks.call_by(
      2, [&] { return ++calls != 0; }, [] { FAIL("somebody comes"); });
  RowTask first, second, third, fourth;
  tasks.push(first);
  CHECK(calls == 1);
  CHECK(tasks.first({})->task == &first);
  for (RowTask* task : {&second, &third, &fourth}) tasks.push(*task);
  CHECK(calls == 2);  // both workers are at work, or on their way
  CHECK(tasks.first({})->task == &second);
  CHECK(tasks.another(Clock::now(), idle)->task == &third);
  CHECK(tasks.another(Clock::now(), idle)->task == &fourth);
  CHECK(!tasks.another(Clock::now(), idle));
  tasks.push(first);
  CHECK(calls == 3);  // one of them has gone
  CHECK(tasks.another(Clock::now(), idle)->task == &first);
  CHECK(!tasks.first({}));
  CHECK(!tasks.another(Clock::now(), idle));
}

TEST_CASE("a task for which no worker could be called is taken by one at work, and otherwise is told of") {
  TaskQueue tasks;
  TaskQueue::Idle idle;
  bool comes = true;
  unsigned calls = 0, stranded = 0;
  tasks.call_by(
      3, [&] { return ++calls, comes; }, [&] { ++stranded; });
  RowTask called, refused, nobodys;
  tasks.push(called);
  comes = false;
  tasks.push(refused);  // somebody is on the way
  CHECK(tasks.first({})->task == &called);
  tasks.push(nobodys);  // somebody is at work
  CHECK(stranded == 0);
  CHECK(tasks.another(Clock::now(), idle)->task == &refused);
  CHECK(tasks.another(Clock::now(), idle)->task == &nobodys);
  CHECK(!tasks.another(Clock::now(), idle));
  tasks.push(called);
  CHECK(stranded == 1);
  CHECK(tasks.size() == 1);
  comes = true;
  tasks.push(refused);
  CHECK(tasks.first({})->task == &called);
  tasks.push(nobodys);
  const unsigned before = calls;
  tasks.pass();  // who came is at work already
  CHECK(calls == before + 1);
  CHECK(tasks.another(Clock::now(), idle)->task == &refused);
  CHECK(tasks.another(Clock::now(), idle)->task == &nobodys);
  CHECK(!tasks.another(Clock::now(), idle));
  tasks.close();
  comes = false;
  tasks.push(nobodys);
  CHECK(stranded == 1);
}

TEST_CASE("a worker is told how long it lacked room") {
  TaskQueue tasks;
  tasks.call_by(1, [] { return true; }, {});
  RowTask task;
  TaskQueue::Idle idle;
  const Clock::time_point now = Clock::now();
  tasks.push(task);
  CHECK(tasks.first(idle)->task == &task);
  tasks.waits_for_room(now - milliseconds(100), true);
  CHECK(!tasks.another(now - milliseconds(60), idle));
  tasks.waits_for_room(now - milliseconds(40), false);
  tasks.push(task);
  CHECK(tasks.first(idle)->no_room == milliseconds(20));
  tasks.push(task);
  CHECK(tasks.another(now - milliseconds(20), idle)->no_room == nanoseconds{});
  CHECK(!tasks.another(now - milliseconds(20), idle));
  tasks.waits_for_room(now - milliseconds(5), true);
  tasks.push(task);
  const auto last = tasks.first(idle);
  CHECK(last->no_room >= milliseconds(5));
  CHECK(last->no_room <= last->at - (now - milliseconds(5)));
}

}  // namespace penstock::test::stall_attribution_test
