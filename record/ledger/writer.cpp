#include <algorithm>
#include <utility>

#include <base/caught.hpp>
#include <penstock/error.hpp>
#include <record/ledger/writer.hpp>

namespace penstock {
namespace {

constexpr std::chrono::seconds kSyncsApart{1};

bool by_budget(const PlanOptions& plan) {
  return plan.bucketed != nullptr && plan.bucketed->budget() != 0;
}

std::uint64_t begin_of(const PlanOptions& plan, const Position& at) {
  if (by_budget(plan)) return at.plan(plan).position_after(at.batch);
  return at.start + at.batch * plan.batch_size * plan.world;
}

}  // namespace

LedgerBatch ledger_batch(const PlanOptions& plan, const Position& at) {
  const Plan::Share share = by_budget(plan) ? at.plan(plan).share(at.batch) : Plan::share_of(plan, at.start, at.batch);
  return {.batch = at.batch, .first = share.first, .end = share.end, .reached = share.reached, .ends = share.ends};
}

LedgerWriter::LedgerWriter(const std::filesystem::path& folder, LedgerHeader mine, const PlanOptions& plan)
    : folder_(LedgerFolder::made(folder)), mine_(std::move(mine)), plan_(plan) {
  require_alike();
  const std::vector<std::string> names = folder_.names();
  if (!names.empty()) time_ = ledger_begun(names.back());
  mine_.begun = now();
  name_ = ledger_name(mine_);
  file_.emplace(folder_.descriptor(), name_, folder, mine_.bytes());
  require_alike();  // again, because other loaders may have begun at the same time
}

// Returns a time later than that of all earlier records, because clocks of machines differ and may be set back.
std::uint64_t LedgerWriter::now() {
  const auto clock = std::chrono::system_clock::now().time_since_epoch();
  const auto told = std::chrono::duration_cast<std::chrono::nanoseconds>(clock).count();
  return time_ = std::max(static_cast<std::uint64_t>(told), time_ + 1);
}

// Compares with one other file, which is enough: each was compared when it began.
void LedgerWriter::require_alike() const {
  for (const std::string& name : folder_.names()) {
    if (name == name_) continue;
    const auto other = folder_.header(name);
    if (!other) continue;
    const std::string difference = ledger_difference(other->header.state, mine_.state);
    if (difference.empty()) return;
    throw Error::invalid_argument("the ledger " + folder_.path().string() + " was written with " + difference +
                                      ": use a separate folder for each dataset and each order of it",
                                  {.dataset = mine_.path});
  }
}

void LedgerWriter::require_alone() const {
  const std::string share = "-" + std::to_string(mine_.rank) + "-of-" + std::to_string(mine_.state.world) + "-";
  for (const std::string& name : folder_.names()) {
    if (name == name_ || name.find(share) == std::string::npos) continue;
    const auto other = folder_.header(name);
    if (!other || other->header.process.boot != mine_.process.boot || mine_.process.boot.empty()) continue;
    const ProcessIdentity& process = other->header.process.identity;
    if (process.pid_namespace != mine_.process.identity.pid_namespace || !lives(process)) continue;
    if (!folder_.delivers(name, other->bytes)) continue;
    const bool here = process == mine_.process.identity;
    throw Error::invalid_argument("another loader delivers as rank " + std::to_string(mine_.rank) + " of " +
                                      std::to_string(mine_.state.world) + " into the ledger " +
                                      folder_.path().string() + ": " +
                                      (here ? "it is in this process; close it first"
                                            : "process " + std::to_string(process.pid) + " is still running"),
                                  {.dataset = mine_.path});
  }
}

void LedgerWriter::make_room() {
  if (file_->records() == 0) require_alone();
  file_->make_room();
}

void LedgerWriter::enter(LedgerRecord::Kind outcome, const Position& at, std::uint64_t bad) {
  LedgerBatch entry = ledger_batch(plan_, at);
  entry.bad = bad;
  const bool follows = last_ && last_->same_order(at) && last_->start == at.start && last_->batch + 1 == at.batch;
  if (!follows) {
    const LedgerMove move{.epoch = at.epoch,
                          .position = begin_of(plan_, at),
                          .seed = at.seed,
                          .shuffle_block = at.shuffle_block,
                          .start = at.start,
                          .batch = at.batch};
    file_->put(move.record(now()));
  }
  file_->put(entry.record(outcome, now()));
  last_ = at;
}

void LedgerWriter::pass(const Position& at) {
  if (at.batch != 0 || at.start >= plan_.samples) return;
  make_room();
  enter(LedgerRecord::Kind::none, at, 0);
}

void LedgerWriter::sync() {
  const auto clock = std::chrono::steady_clock::now();
  if (synced_ == file_->records() || clock < sync_at_) return;
  file_->sync();
  synced_ = file_->records();
  sync_at_ = clock + kSyncsApart;
}

void LedgerWriter::close() noexcept {
  if (file_->records() != 0) {
    caught([&] {
      file_->make_room();
      file_->put({.kind = LedgerRecord::Kind::end, .time = now(), .numbers = {}});
    });
  }
  file_->close();
}

LedgerEntry::~LedgerEntry() {
  if (ledger_ == nullptr) return;
  // The exception in flight is more informative. If the file is gone, the next batch reports it.
  caught([&] { ledger_->enter(LedgerRecord::Kind::failed, at_, 0); });
}

}  // namespace penstock
