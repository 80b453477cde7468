// workers="auto": what it settles at where figures follow a model of a machine, and that it changes nothing but speed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <base/thread.hpp>
#include <loader/work/auto_workers.hpp>

#include "support/loading.hpp"
#include "support/working_codec.hpp"

namespace penstock::test::auto_workers_test {

using namespace std::chrono_literals;

namespace {

/// What a rank's samples take, in seconds, and how many of them its consumer takes a second.
struct Job {
  double computes = 0.01, sleeps = 0, taken = 1e9;
};

nanoseconds nanoseconds_of(double seconds) {
  return nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

/// Ranks that share cores, each of them with its own AutoWorkers, in model time.
class Node {
 public:
  Node(double cores, std::vector<Job> jobs, unsigned share, unsigned most, double noise, bool tells = true)
      : cores_(cores), noise_(noise), tells_(tells) {
    for (const Job& job : jobs)
      ranks_.push_back(
          {.job = job,
           .workers = std::make_unique<AutoWorkers>(share, cores / static_cast<double>(jobs.size()), most, 4)});
  }

  /// Steps of a quarter of a second, each with many batches.
  void run(double seconds) {
    for (int step = 0; step < seconds * 4; ++step) {
      now_ += 250ms;
      const std::vector<double> on = cores_of_each();
      const double idle = std::max(0.0, cores_ - std::accumulate(on.begin(), on.end(), 0.0));
      idle_ += idle * 0.25;
      for (std::size_t i = 0; i < ranks_.size(); ++i) advance(ranks_[i], on[i]);
      for (Rank& rank : ranks_) look(rank);
    }
  }

  unsigned active(std::size_t rank = 0) const { return ranks_[rank].workers->active(); }
  int changes(std::size_t rank = 0) const { return ranks_[rank].changes; }
  double rate(std::size_t rank = 0) const { return rate_of(ranks_[rank].job, active(rank), cores_of_each()[rank]); }
  Job& job(std::size_t rank = 0) { return ranks_[rank].job; }

 private:
  struct Rank {
    Job job;
    std::unique_ptr<AutoWorkers> workers;
    WorkDone done = {};
    double idle_before = 0;
    int changes = 0;
  };

  static double free_rate(const Job& job, unsigned active) {
    return std::min(job.taken, active / (job.computes + job.sleeps));
  }
  static double rate_of(const Job& job, unsigned active, double cores) {
    return std::min(free_rate(job, active), cores / job.computes);
  }

  // As fair as the system's scheduler is to threads: nobody gets more than asked for, the rest is shared by workers.
  std::vector<double> cores_of_each() const {
    std::vector<double> wanted, given(ranks_.size(), 0);
    for (const Rank& rank : ranks_) wanted.push_back(free_rate(rank.job, rank.workers->active()) * rank.job.computes);
    double left = cores_;
    for (int round = 0; round < 20 && left > 1e-9; ++round) {
      double weights = 0;
      for (std::size_t i = 0; i < ranks_.size(); ++i)
        if (given[i] < wanted[i] - 1e-9) weights += ranks_[i].workers->active();
      if (weights == 0) break;
      const double part = left / weights;
      for (std::size_t i = 0; i < ranks_.size(); ++i) {
        if (given[i] >= wanted[i] - 1e-9) continue;
        const double more = std::min(wanted[i] - given[i], part * ranks_[i].workers->active());
        given[i] += more;
        left -= more;
      }
    }
    return given;
  }

  void advance(Rank& rank, double cores) {
    const unsigned active = rank.workers->active();
    const double wobble = 1 + noise_ * std::uniform_real_distribution<>(-1, 1)(random_);
    const double rate = rate_of(rank.job, active, cores) * wobble;
    const bool fed = rate_of(rank.job, active, cores) >= rank.job.taken * 0.999;
    const double on = std::min(cores, rate * rank.job.computes);
    const double working = fed ? rate * (rank.job.computes + rank.job.sleeps) : active;
    const double awaited = std::max(0.0, working - on - rate * rank.job.sleeps);
    rank.done.samples += static_cast<std::uint64_t>(rate * 0.25 * 1000);  // small samples
    rank.done.waited += nanoseconds_of(fed ? 0 : 0.25 * (1 - rate / (rank.job.taken * 1.2)));
    rank.done.worked += nanoseconds_of(working * 0.25);
    if (!tells_) return;
    rank.done.on_cores += nanoseconds_of(on * 0.25);
    rank.done.awaited_cores += nanoseconds_of(awaited * 0.25);
  }

  void look(Rank& rank) {
    bool due = false;
    for (int batch = 0; batch < 10; ++batch) due |= rank.workers->due(now_);
    if (!due) return;
    const unsigned before = rank.workers->active();
    const double took = std::max(0.25, seconds_since(rank));
    rank.workers->look(rank.done, tells_ ? std::optional((idle_ - rank.idle_before) / took) : std::nullopt, now_);
    rank.idle_before = idle_;
    last_[&rank] = now_;
    rank.changes += rank.workers->active() != before;
  }
  double seconds_since(const Rank& rank) const {
    const auto found = last_.find(&rank);
    return found == last_.end() ? 0.25 : std::chrono::duration<double>(now_ - found->second).count();
  }

  const double cores_, noise_;
  const bool tells_;
  std::vector<Rank> ranks_;
  std::map<const Rank*, Clock::time_point> last_;
  std::mt19937 random_{7};
  Clock::time_point now_ = Clock::now();
  double idle_ = 0;  // seconds of cores
};

}  // namespace

TEST_CASE("workers that sleep become so many that the cores are busy, within half a minute") {
  for (const bool tells : {true, false}) {
    CAPTURE(tells);
    Node node(2, {{.computes = 0.0005, .sleeps = 0.0095}}, 2, 64, 0.01, tells);
    node.run(30);
    CHECK(node.active() >= 38);
    CHECK(node.rate() >= 0.95 * 2 / 0.0005);
  }
}

TEST_CASE("workers that compute stay as many as the cores, whatever the figures wobble") {
  Node node(4, {{.computes = 0.01}}, 4, 64, 0.05);
  node.run(600);
  CHECK(node.active() == 4);
  CHECK(node.changes() == 0);
}

TEST_CASE("where nobody tells who is on a core, tries that bring nothing are taken back, and become rare") {
  Node node(4, {{.computes = 0.01}}, 4, 64, 0.005, false);
  node.run(60);
  CHECK(node.active() == 4);
  const int early = node.changes();
  node.run(600);
  CHECK(node.active() == 4);
  CHECK(node.changes() - early <= 8);
}

TEST_CASE("a slow consumer lets workers go, and a faster one has them back soon") {
  Node node(8, {{.computes = 0.01, .sleeps = 0, .taken = 150}}, 8, 64, 0.01);  // work for one and a half
  node.run(60);
  CHECK(node.active() >= 2);
  CHECK(node.active() <= 3);
  CHECK(node.rate() >= 149);
  node.job().taken = 1e9;
  node.run(15);
  CHECK(node.active() == 8);
}

TEST_CASE("four ranks share the cores of a node: each has its share, or what the others leave, without swinging") {
  SUBCASE("all compute") {
    Node node(8, {{}, {}, {}, {}}, 2, 64, 0.03);
    node.run(300);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(node.active(rank) == 2);
      CHECK(node.rate(rank) == doctest::Approx(200));
    }
  }
  SUBCASE("more ranks than cores") {
    Node node(2, {{}, {}, {}, {}}, 1, 64, 0.03);
    node.run(300);
    for (std::size_t rank = 0; rank < 4; ++rank) CHECK(node.active(rank) == 1);
  }
  SUBCASE("two have slow consumers") {
    const Job slow{.taken = 20};
    Node node(8, {slow, {}, slow, {}}, 2, 64, 0.02);
    node.run(30);
    CHECK(node.rate(1) + node.rate(3) >= 0.95 * (8 - 0.4) / 0.01);
    CHECK(node.rate(0) >= 19);
    const int before = node.changes(1) + node.changes(3);
    node.run(600);
    CHECK(node.changes(1) + node.changes(3) - before <= 12);
    CHECK(node.rate(1) + node.rate(3) >= 0.95 * (8 - 0.4) / 0.01);
  }
  SUBCASE("one that had what others left gives it back when they want it") {
    const Job slow{.taken = 20};
    Node node(8, {{}, slow, slow, slow}, 2, 64, 0.02);
    node.run(60);
    CHECK(node.active(0) >= 7);
    for (std::size_t rank = 1; rank < 4; ++rank) node.job(rank) = {};
    node.run(120);
    CHECK(node.active(0) <= 3);
    for (std::size_t rank = 1; rank < 4; ++rank) CHECK(node.rate(rank) >= 175);
  }
  SUBCASE("all sleep most of the time") {
    const Job naps{.computes = 0.0005, .sleeps = 0.0095};
    Node node(2, {naps, naps, naps, naps}, 1, 64, 0.02);
    node.run(30);
    double sum = 0;
    for (std::size_t rank = 0; rank < 4; ++rank) sum += node.rate(rank);
    CHECK(sum >= 0.95 * 2 / 0.0005);
  }
}

TEST_CASE("figures that begin anew are no stretch") {
  AutoWorkers workers(2, 2, 64, 0);
  Clock::time_point now = Clock::now();
  WorkDone done{.samples = 1'000'000, .waited = 1h, .worked = 2h, .on_cores = 1min};
  const auto look = [&] {
    now += 5s;
    for (int i = 0; i < 20; ++i) workers.due(now);
    workers.look(done, 1.0, now);
  };
  look();
  done = {.samples = 10, .waited = 1ms, .worked = 2ms, .on_cores = 1us};  // smaller than before
  look();
  CHECK(workers.active() == 2);
  done = {.samples = 1010, .waited = 5s, .worked = 10s, .on_cores = 500ms};
  look();
  CHECK(workers.active() == 4);
}

TEST_CASE("threads that fall asleep late, and wait for cores meanwhile, do not look like work without end") {
  AutoWorkers workers(2, 2, 64, 0);
  Clock::time_point now = Clock::now();
  WorkDone done;
  const auto look = [&](nanoseconds on, nanoseconds awaited) {
    now += 2s;
    done.samples += 1000;
    done.waited += 2s;
    done.worked += 2s * workers.active();
    done.on_cores += on;
    done.awaited_cores += awaited;
    for (int i = 0; i < 20; ++i) workers.due(now);
    workers.look(done, 0.0, now);
  };
  look({}, {});
  look(200ms, {});  // a tenth of two workers' time: four
  CHECK(workers.active() == 4);
  look({}, {});
  done.samples += 1000;  // twice as fast
  look(400ms, {});
  CHECK(workers.active() == 4);
  for (int i = 0; i < 5; ++i) look(400ms, 100s);
  CHECK(workers.active() >= 4);
}

TEST_CASE("the average is over the time since the figures began") {
  AutoWorkers workers(4, 4, 8, 0);
  const Clock::time_point now = Clock::now();
  workers.reset(now);
  workers.limit(2, now + 1s);
  CHECK(workers.active() == 2);
  CHECK(workers.average(now + 2s) == doctest::Approx(3));
}

// ---- In a loader
// -----------------------------------------------------------------------------------------------------

namespace {

LoaderOptions napping(unsigned workers, unsigned most) {
  LoaderOptions options = working(workers, 16, [](std::byte, Parallel*) { std::this_thread::sleep_for(2ms); });
  options.max_workers = most;
  options.shuffle = true;
  return options;
}

unsigned now_at(Loader& loader) {
  return static_cast<unsigned>(loader.stats().workers_now);
}

}  // namespace

TEST_CASE("a loader whose workers sleep uses more of them, up to its bound, and delivers the same bytes") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 250);
  const Dataset dataset = open(folder / "data");
  Loader fixed(dataset, napping(2, 0)), changing(dataset, napping(2, 12));
  CHECK(fixed.options().max_workers == 2);
  CHECK(changing.options().max_workers == 12);
  const auto deadline = Clock::now() + 60s;
  std::uint64_t epochs = 0;
  while (now_at(changing) < 12 && Clock::now() < deadline) {
    while (changing.next()) {
    }
    ++epochs;
  }
  const Stats stats = changing.stats();
  CHECK(stats.workers_now == 12);
  CHECK(stats.workers >= 2);
  CHECK(stats.workers_observed > 2);
  while (now_at(changing) == 12 && Clock::now() < deadline) {  // a slow consumer lets some go
    while (changing.next()) std::this_thread::sleep_for(20ms);
    ++epochs;
  }
  CHECK(now_at(changing) < 12);
  fixed.set_epoch(epochs);
  CHECK(batch_digests(changing) == batch_digests(fixed));
  for (const Gain& gain : changing.gains()) CHECK(gain.knob.find("workers") == std::string::npos);
}

TEST_CASE("a thread that the system refuses is said, and the loader goes on with those it has") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 250);
  static std::atomic<int> left;
  left = 5;
  before_thread = [](const std::string& name) {
    if (name.starts_with("penstock-w") && left.fetch_sub(1) <= 0) throw Error::resource("no thread today");
  };
  Loader loader(open(folder / "data"), napping(2, 12));
  const auto deadline = Clock::now() + 60s;
  while (loader.stats().notes.empty() && Clock::now() < deadline) {
    while (loader.next()) {
    }
  }
  before_thread = nullptr;
  const Stats stats = loader.stats();
  CHECK(stats.notes.find("workers: ") != std::string::npos);
  CHECK(stats.notes.find("no thread today") != std::string::npos);
  CHECK(stats.workers_now <= 5);
  std::size_t rows = 0;
  while (const auto batch = loader.next()) rows += batch->size();
  CHECK(rows == 250);
}

TEST_CASE("bounds of workers are checked, and auto has one") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 4);
  const Dataset dataset = open(folder / "data");
  LoaderOptions options = napping(3, 2);
  CHECK(Loader(dataset, options).options().max_workers == 3);
  options.max_workers = kAutoWorkers;
  CHECK(Loader(dataset, options).options().max_workers == 64);
  options.max_workers = 1025;
  CHECK_THROWS_AS(Loader(dataset, options), Error);
}

}  // namespace penstock::test::auto_workers_test
