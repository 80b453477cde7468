// Tests audits of ledgers on random trainings that are killed, restored from random checkpoints, and divided anew. What
// must come out is counted by a model that knows nothing of ledgers: a checkpoint keeps how often its weights have seen
// each position, and a restore goes back to that.
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <order/cursor.hpp>
#include <penstock/ledger.hpp>
#include <record/ledger/writer.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::histories_test {
namespace {

constexpr std::uint64_t kFingerprint = 0x1234'5678'9abc'def0;
using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t end) {
  return random() % end;
}

/// How often weights have seen each position, by epoch.
using Seen = std::map<std::uint64_t, std::vector<int>>;

struct Checkpoint {
  LoaderState state;
  Seen seen;
};

/// What is drawn for all of a training.
struct Setting {
  PlanOptions plan;
  bool changes_batch_size = false, sets_epoch = false;
};

struct Training {
  Setting setting;
  std::vector<Checkpoint> checkpoints = {};
  Seen seen = {};
  std::uint64_t ends_in = 0;  ///< epoch in which the last run ended
  bool went_on = false;       ///< the last run had batches
  std::size_t begun_at = 0;   ///< checkpoint of the last run
  std::uint32_t world = 1;    ///< of the last run
};

Cursor cursor_of(const PlanOptions& plan) {
  return Cursor(plan, std::nullopt, 0);
}

Setting setting_of(Random& random) {
  Setting setting;
  setting.plan = {.samples = 1 + below(random, 200),
                  .shuffle = true,
                  .seed = below(random, 3),
                  .batch_size = static_cast<std::uint32_t>(1 + below(random, 12)),
                  .last = std::array{Last::keep, Last::drop, Last::pad}[below(random, 3)]};
  setting.changes_batch_size = below(random, 3) == 0;
  setting.sets_epoch = below(random, 4) == 0;
  return setting;
}

/// The ranks of one process group, each with a ledger of its own where there is a folder.
class Run {
 public:
  Run(Training& training, const std::optional<std::filesystem::path>& folder, const PlanOptions& plan,
      const Checkpoint& from)
      : training_(training) {
    training_.seen = from.seen;
    training_.went_on = false;
    for (std::uint32_t rank = 0; rank < plan.world; ++rank) {
      PlanOptions own = plan;
      own.rank = rank;
      cursors_.push_back(cursor_of(own));
      plans_.push_back(own);
      if (folder) {
        ledgers_.push_back(std::make_unique<LedgerWriter>(
            *folder,
            LedgerHeader{
                .state = cursors_.back().save(kFingerprint, ""), .rank = rank, .process = this_ledger_process()},
            own));
      }
      cursors_.back().go_to(cursors_.back().load(from.state, kFingerprint, "").position);
    }
  }

  /// Takes steps until it is killed, which may be in the middle of one.
  void run(Random& random, std::uint64_t steps, bool killed) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (begin_epoch()) return;
      const std::uint64_t first = below(random, cursors_.size());
      const std::uint64_t ranks = killed && step + 1 == steps ? 1 + below(random, cursors_.size()) : cursors_.size();
      for (std::uint64_t i = 0; i < ranks; ++i) give((first + i) % cursors_.size());
      if (ranks < cursors_.size()) break;
      if (below(random, 4) == 0)
        training_.checkpoints.push_back({cursors_.front().save(kFingerprint, ""), training_.seen});
      if (training_.setting.sets_epoch && below(random, 20) == 0)
        for (Cursor& cursor : cursors_) cursor.go_to(cursor.position().first_of(cursor.position().epoch + 1));
    }
  }

 private:
  // True where no epoch has a batch, because last=drop leaves all out.
  bool begin_epoch() {
    for (std::size_t rank = 0; rank < cursors_.size(); ++rank) {
      Cursor& cursor = cursors_[rank];
      if (cursor.batches_per_epoch() == 0) return true;
      if (!cursor.at_end()) continue;
      if (!ledgers_.empty()) ledgers_[rank]->pass(cursor.position());
      cursor.next_epoch();
    }
    return false;
  }

  void give(std::size_t rank) {
    Cursor& cursor = cursors_[rank];
    const Position at = cursor.position();
    if (!ledgers_.empty()) {
      ledgers_[rank]->make_room();
      ledgers_[rank]->enter(LedgerRecord::Kind::batch, at, 0);
    }
    std::vector<Row> rows;
    at.plan(plans_[rank]).batch(at.batch, rows);
    std::vector<int>& seen = training_.seen[at.epoch];
    seen.resize(plans_[rank].samples);
    for (const Row& row : rows) seen[row.position] += row.valid ? 1 : 0;
    cursor.advance();
    cursor.delivered();
    training_.ends_in = at.epoch;
    training_.went_on = true;
  }

  Training& training_;
  std::vector<PlanOptions> plans_;
  std::vector<Cursor> cursors_;
  std::vector<std::unique_ptr<LedgerWriter>> ledgers_;
};

struct RunDraws {
  PlanOptions plan;
  std::size_t checkpoint = 0;
  std::uint64_t steps = 0, seed = 0;
  bool killed = true;
};

RunDraws draws_of(Random& random, const Training& training, bool last) {
  RunDraws draws{.plan = training.setting.plan};
  draws.plan.world = std::array<std::uint32_t, 4>{1, 2, 3, 8}[below(random, 4)];
  if (training.setting.changes_batch_size) draws.plan.batch_size = static_cast<std::uint32_t>(1 + below(random, 12));
  const std::size_t known = training.checkpoints.size();
  draws.checkpoint = below(random, 3) != 0 ? known - 1 : below(random, known);
  if (below(random, 4) == 0) {  // begins as the last run did
    draws.checkpoint = training.begun_at;
    draws.plan.world = training.world;
    draws.plan.batch_size = training.setting.plan.batch_size;
  }
  draws.steps = 1 + below(random, last ? 30 : 15);
  draws.killed = !last && below(random, 4) != 0;
  draws.seed = random();
  return draws;
}

void play(Training& training, const RunDraws& draws, const std::optional<std::filesystem::path>& folder) {
  Random random(draws.seed);
  const Checkpoint from = training.checkpoints[draws.checkpoint];
  // What stands behind a checkpoint that is restored is another future from now on.
  training.checkpoints.resize(draws.checkpoint + 1);
  training.begun_at = draws.checkpoint;
  training.world = draws.plan.world;
  Run run(training, folder, draws.plan, from);
  run.run(random, draws.steps, draws.killed);
  if (folder && draws.killed) ::_exit(0);  // as kill -9 does, nothing is closed
}

Training random_training(Random& random, const std::filesystem::path& folder) {
  Training training{.setting = setting_of(random)};
  PlanOptions first = training.setting.plan;
  training.checkpoints.push_back({cursor_of(first).save(kFingerprint, ""), {}});
  const std::uint64_t runs = 1 + below(random, 8);
  for (std::uint64_t i = 0; i < runs; ++i) {
    const RunDraws draws = draws_of(random, training, i + 1 == runs);
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        play(training, draws, folder);
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(status == 0);
    play(training, draws, std::nullopt);
  }
  return training;
}

std::uint64_t positions_that_count(const PlanOptions& plan, const std::vector<int>& seen) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < plan.samples; ++i) count += seen[i] != 0 ? 1U : 0U;
  return count;
}

std::vector<std::uint64_t> listed(const AuditedPositions& positions) {
  std::vector<std::uint64_t> all;
  for (const auto& [first, end] : positions.ranges)
    for (std::uint64_t at = first; at < end; ++at) all.push_back(at);
  return all;
}

void compare(const Training& training, const LedgerAudit& audit) {
  const PlanOptions& plan = training.setting.plan;
  Seen seen = training.seen;
  std::erase_if(seen, [&](const auto& epoch) { return positions_that_count(plan, epoch.second) == 0; });
  std::vector<std::uint64_t> expected, found;
  for (const auto& [epoch, counts] : seen) expected.push_back(epoch);
  for (const AuditedEpoch& epoch : audit.epochs)
    if (epoch.delivered > 0) found.push_back(epoch.epoch);
  const auto joined = [](const std::vector<std::uint64_t>& epochs) {
    std::string text;
    for (const std::uint64_t epoch : epochs) text += std::to_string(epoch) + " ";
    return text;
  };
  REQUIRE(joined(found) == joined(expected));
  bool all_good = true;
  for (const AuditedEpoch& epoch : audit.epochs) {
    if (epoch.delivered == 0) continue;
    CAPTURE(epoch.epoch);
    const std::vector<int>& counts = seen.at(epoch.epoch);
    const std::uint64_t ends = plan.samples - epoch.left_out;
    std::vector<std::uint64_t> lacking;
    for (std::uint64_t at = 0; at < ends; ++at)
      if (counts[at] == 0) lacking.push_back(at);
    CHECK(epoch.delivered == positions_that_count(plan, counts));
    CHECK(epoch.twice.count == 0);
    const bool is_last = epoch.epoch == training.ends_in;
    if (lacking.empty()) {
      CHECK(epoch.verdict == AuditedEpoch::Verdict::proved);
    } else if (is_last) {
      CHECK(epoch.verdict == AuditedEpoch::Verdict::unfinished);
      CHECK(epoch.missing.count == 0);
    } else {
      CHECK(epoch.verdict == AuditedEpoch::Verdict::faulty);
      CHECK(listed(epoch.missing) == lacking);
      all_good = false;
    }
  }
  CHECK(audit.good() == all_good);
}

}  // namespace

TEST_CASE("an audit finds what the weights have seen, after any kills, restores and changes of world") {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20260601;
  Random random(seed);
  int proved = 0, faulty = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(seed);
    CAPTURE(round);
    const TemporaryFolder folder;
    const Training training = random_training(random, folder / "ledger");
    if (!training.went_on) continue;  // nothing tells a ledger that it was restored
    const LedgerAudit audit = audit_ledger(folder / "ledger");
    CAPTURE(to_text(audit));
    compare(training, audit);
    for (const AuditedEpoch& epoch : audit.epochs) proved += epoch.verdict == AuditedEpoch::Verdict::proved ? 1 : 0;
    faulty += audit.good() ? 0 : 1;
  }
  MESSAGE("seed " << seed << ": " << proved << " epochs proved, " << faulty << " trainings that left some early");
  CHECK(proved > 100);
  CHECK(faulty > 5);
}

}  // namespace penstock::test::histories_test
