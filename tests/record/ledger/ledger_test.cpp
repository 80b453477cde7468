// Tests the ledger of a loader: what it enters, what it refuses, and what an audit says of files that were damaged.
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <penstock/ledger.hpp>
#include <record/ledger/header.hpp>
#include <record/ledger/record.hpp>

#include "support/file_size_limit.hpp"
#include "support/loading.hpp"

namespace penstock::test::ledger_test {
namespace {

namespace fs = std::filesystem;
using Verdict = AuditedEpoch::Verdict;

LoaderOptions options_with(const fs::path& ledger, std::uint32_t rank = 0, std::uint32_t world = 1) {
  LoaderOptions options;
  options.batch_size = 8;
  options.shuffle = true;
  options.seed = 5;
  options.workers = 1;
  options.rank = rank;
  options.world_size = world;
  options.delivery_log = ledger;
  return options;
}

void take(Loader& loader, int batches) {
  for (int taken = 0; taken < batches;) taken += loader.next().has_value() ? 1 : 0;
}

void take_epoch(Loader& loader) {
  while (loader.next()) {
  }
}

std::vector<fs::path> files_of(const fs::path& ledger) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(ledger)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// In a process that ends without a word, as one does that is killed.
void in_killed_process(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(status == 0);
}

std::string cause_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.cause();
  }
  return "nothing was thrown";
}

bool has(const std::vector<std::string>& sentences, const std::string& part) {
  return std::ranges::any_of(sentences, [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

/// The bytes of a ledger's file, whose records can be changed as only a penstock would.
struct Records {
  explicit Records(fs::path file) : path(std::move(file)), bytes(read_file(path)) {
    header = ledger_header(bytes_of(bytes)).bytes;
  }
  std::size_t count() const { return (bytes.size() - header) / kLedgerRecordBytes; }
  char* at(std::size_t number) { return bytes.data() + header + number * kLedgerRecordBytes; }
  LedgerRecord record(std::size_t number) {
    return *ledger_record(std::span<const std::byte, kLedgerRecordBytes>(reinterpret_cast<std::byte*>(at(number)), 64),
                          number);
  }
  void put(std::size_t number, const LedgerRecord& record) {
    const LedgerWords words = words_of(record, number);
    std::memcpy(at(number), words.data(), kLedgerRecordBytes);
  }
  /// The records behind it move up.
  void remove(std::size_t number) {
    for (std::size_t i = number; i + 1 < count(); ++i) put(i, record(i + 1));
    bytes.resize(bytes.size() - kLedgerRecordBytes);
  }
  /// Once more, behind itself.
  void repeat(std::size_t number) {
    bytes.resize(bytes.size() + kLedgerRecordBytes);
    for (std::size_t i = count() - 1; i > number; --i) put(i, record(i - 1));
  }
  void write() const { write_file(path, bytes); }

  fs::path path;
  std::string bytes;
  std::size_t header;
};

/// Two epochs of 50 samples by two ranks, one behind the other.
struct TwoRanks {
  TwoRanks() {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      Loader loader(arrays.dataset(), options_with(ledger, rank, 2));
      take_epoch(loader);
      take_epoch(loader);
    }
  }
  Records rank(std::size_t number) const { return Records(files_of(ledger).at(number)); }

  Arrays arrays{50};
  fs::path ledger = arrays.folder / "ledger";
};

}  // namespace

TEST_CASE("whole epochs of two ranks are proved, and what pads counts for nothing") {
  const TwoRanks made;
  const LedgerAudit audit = audit_ledger(made.ledger);
  CHECK(audit.good());
  REQUIRE(audit.epochs.size() == 2);
  for (const AuditedEpoch& epoch : audit.epochs) {
    CHECK(epoch.verdict == Verdict::proved);
    CHECK(epoch.delivered == 50);
    CHECK(epoch.twice.count == 0);
    CHECK(epoch.taken_back == 0);
  }
  CHECK(audit.notes.empty());
}

TEST_CASE("a killed process has entered all that it was given, and a restore takes back what lies behind it") {
  const Arrays arrays(50);
  const fs::path ledger = arrays.folder / "ledger", saved = arrays.folder / "state";
  in_killed_process([&] {
    Loader loader(arrays.dataset(), options_with(ledger));
    take(loader, 3);
    write_file(saved, loader.state().to_json());
    take(loader, 2);
  });
  const LedgerAudit before = audit_ledger(ledger);
  CHECK(before.good());
  REQUIRE(before.epochs.size() == 1);
  CHECK(before.epochs[0].delivered == 40);
  CHECK(before.epochs[0].verdict == Verdict::unfinished);

  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    Loader loader(arrays.dataset(), options_with(ledger, rank, 3));
    loader.restore(LoaderState::from_json(read_file(saved)));
    take_epoch(loader);
  }
  const LedgerAudit after = audit_ledger(ledger);
  CHECK(after.good());
  REQUIRE(after.epochs.size() == 1);
  CHECK(after.epochs[0].verdict == Verdict::proved);
  CHECK(after.epochs[0].taken_back == 16);
  CHECK(after.epochs[0].turns == 2);
  CHECK(after.epochs[0].worlds == std::vector<std::uint32_t>{1, 3});
}

TEST_CASE("a process that begins behind what was delivered leaves a hole, which is told with keys") {
  const Arrays arrays(50);
  const fs::path ledger = arrays.folder / "ledger";
  LoaderState state;
  {
    Loader loader(arrays.dataset(), options_with(ledger));
    take(loader, 2);
    state = loader.state();
  }
  state.batch = 3;
  std::vector<std::string> lost;
  {
    Loader loader(arrays.dataset(), options_with(ledger));
    const Batch skipped = loader.at(0, 2);
    for (const std::string_view key : skipped.keys()) lost.emplace_back(key);
    loader.restore(state);
    take(loader, 1);
  }
  const Dataset dataset = arrays.dataset();
  const LedgerAudit audit = audit_ledger(ledger, &dataset);
  CHECK_FALSE(audit.good());
  REQUIRE(audit.epochs.size() == 1);
  CHECK(audit.epochs[0].verdict == Verdict::faulty);
  CHECK(audit.epochs[0].missing.ranges == std::vector<AuditedPositions::Range>{{16, 24}});
  CHECK(audit.epochs[0].missing.keys == lost);
  CHECK(has(audit.faults, "8 of 50 samples were not delivered, at positions 16 to 23"));
}

TEST_CASE("a training that begins anew takes back the later epochs of the one before") {
  TwoRanks made;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    Loader loader(made.arrays.dataset(), options_with(made.ledger, rank, 2));
    take(loader, 2);
  }
  const LedgerAudit audit = audit_ledger(made.ledger);
  CHECK(audit.good());
  REQUIRE(audit.epochs.size() == 1);
  CHECK(audit.epochs[0].delivered == 32);
  CHECK(audit.epochs[0].taken_back == 50);
}

TEST_CASE("an epoch that was left early, with another behind it, is told") {
  const Arrays arrays(50);
  const fs::path ledger = arrays.folder / "ledger";
  Loader loader(arrays.dataset(), options_with(ledger));
  take(loader, 2);
  loader.set_epoch(1);
  take_epoch(loader);
  const LedgerAudit audit = audit_ledger(ledger);
  REQUIRE(audit.epochs.size() == 2);
  CHECK(audit.epochs[0].missing.count == 34);
  CHECK(audit.epochs[1].verdict == Verdict::proved);
  CHECK(has(audit.faults, "epoch 0: 34 of 50 samples were not delivered"));
}

TEST_CASE("what last=drop leaves out is no fault, and is counted") {
  const Arrays arrays(50);
  const fs::path ledger = arrays.folder / "ledger";
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    LoaderOptions options = options_with(ledger, rank, 2);
    options.last_batch = Last::drop;
    Loader loader(arrays.dataset(), options);
    take_epoch(loader);
  }
  const LedgerAudit audit = audit_ledger(ledger);
  CHECK(audit.good());
  CHECK(audit.epochs.at(0).delivered == 48);
  CHECK(audit.epochs.at(0).left_out == 2);
  CHECK(audit.epochs.at(0).verdict == Verdict::proved);
}

TEST_CASE("samples that were marked bad are counted, and a batch that failed is told") {
  const Arrays arrays(50);
  const fs::path marked = arrays.folder / "marked", raised = arrays.folder / "raised";
  write_file(arrays.folder / "data" / (number_key(7) + ".npy"), "no array");
  for (const OnError policy : {OnError::mark, OnError::raise}) {
    LoaderOptions options = options_with(policy == OnError::mark ? marked : raised);
    options.on_error = policy;
    Loader loader(arrays.dataset(), options);
    for (bool more = true; more;) {
      try {
        more = loader.next().has_value();
      } catch (const Error&) {
        CHECK(policy == OnError::raise);
      }
    }
  }
  const LedgerAudit good = audit_ledger(marked);
  CHECK(good.good());
  CHECK(good.epochs.at(0).bad == 1);
  const LedgerAudit lacking = audit_ledger(raised);
  CHECK(lacking.epochs.at(0).missing.count == 8);
  CHECK(has(lacking.faults, "for 8 of them the loader raised an error instead of a batch"));
}

TEST_CASE("a record that is lost, or doubled, or damaged is told") {
  const TwoRanks made;
  SUBCASE("lost from the middle") {
    Records records = made.rank(0);
    records.remove(2);
    records.write();
    const LedgerAudit audit = audit_ledger(made.ledger);
    CHECK(audit.epochs.at(0).missing.ranges == std::vector<AuditedPositions::Range>{{16, 24}});
    CHECK_FALSE(audit.good());
  }
  SUBCASE("doubled") {
    Records records = made.rank(1);
    records.repeat(2);
    records.write();
    const LedgerAudit audit = audit_ledger(made.ledger);
    CHECK(audit.epochs.at(0).twice.ranges == std::vector<AuditedPositions::Range>{{24, 32}});
    CHECK(has(audit.faults, "8 samples were delivered more than once, at positions 24 to 31"));
  }
  SUBCASE("turned to zeros") {
    Records records = made.rank(0);
    std::memset(records.at(2), 0, kLedgerRecordBytes);
    records.write();
    const LedgerAudit audit = audit_ledger(made.ledger);
    CHECK(has(audit.faults, "record 2 is missing"));
    CHECK(audit.epochs.at(0).missing.count == 8);
  }
  SUBCASE("exchanged with another") {
    Records records = made.rank(0);
    std::swap_ranges(records.at(1), records.at(2), records.at(2));
    records.write();
    CHECK(has(audit_ledger(made.ledger).faults, "record 1 is damaged"));
  }
  SUBCASE("a file that is gone") {
    fs::remove(files_of(made.ledger).at(1));
    const LedgerAudit audit = audit_ledger(made.ledger);
    CHECK_FALSE(audit.good());
    CHECK(audit.epochs.at(0).missing.count == 24);
  }
}

TEST_CASE("no flipped bit of a file passes unseen") {
  const TwoRanks made;
  const Records whole = made.rank(0);
  for (std::size_t place = 0; place < whole.bytes.size(); ++place) {
    if (place >= whole.header - 64 && place < whole.header) continue;  // zeros that nothing reads
    if (place > 2048 && place < whole.header - 64) continue;
    Records flipped = whole;
    flipped.bytes[place] = static_cast<char>(flipped.bytes[place] ^ (1 << place % 8));
    flipped.write();
    const LedgerAudit audit = audit_ledger(made.ledger);
    CAPTURE(place);
    const bool in_text = place >= 24 && place < whole.header;
    if (in_text && whole.bytes[place] == '\0') continue;
    CHECK((!audit.good() || has(audit.notes, "its last record is incomplete")));
  }
}

TEST_CASE("a file that is cut off anywhere is read, and never makes more of an epoch than there is") {
  const TwoRanks made;
  const Records whole = made.rank(1);
  const LedgerAudit before = audit_ledger(made.ledger);
  for (std::size_t length = whole.header; length < whole.bytes.size(); ++length) {
    CAPTURE(length);
    write_file(whole.path, whole.bytes.substr(0, length));
    const LedgerAudit audit = audit_ledger(made.ledger);
    const std::size_t last = whole.bytes.size() - 2 * kLedgerRecordBytes;  // a batch that pads, and the end
    if (length % kLedgerRecordBytes != 0) CHECK((has(audit.notes, "is incomplete") || length % 64 < 5));
    if (length >= last) {
      CHECK(audit.epochs.at(1).verdict == Verdict::proved);
      continue;
    }
    CHECK(audit.epochs.at(1).delivered < 50);
    CHECK(audit.epochs.at(1).verdict != Verdict::proved);
    if (length < whole.header + 4 * kLedgerRecordBytes) CHECK(audit.epochs.at(0).verdict != Verdict::proved);
  }
}

TEST_CASE("one ledger takes one dataset and one order") {
  const Arrays arrays(50), others(40);
  const fs::path ledger = arrays.folder / "ledger";
  Loader loader(arrays.dataset(), options_with(ledger));
  CHECK(cause_of([&] { Loader(others.dataset(), options_with(ledger)); }).find("was written with another dataset") !=
        std::string::npos);
  LoaderOptions other = options_with(ledger);
  other.shuffle = false;
  CHECK(cause_of([&] { Loader(arrays.dataset(), other); }).find("was written with shuffle=true, not false") !=
        std::string::npos);
  other = options_with(ledger);
  other.last_batch = Last::drop;
  CHECK(cause_of([&] { Loader(arrays.dataset(), other); }).find("was written with last_batch=keep, not drop") !=
        std::string::npos);
  other = options_with(ledger);
  other.subset = std::vector<std::uint64_t>{1, 2, 3};
  CHECK(cause_of([&] { Loader(arrays.dataset(), other); }).find("was written with 50 samples an epoch") !=
        std::string::npos);
  CHECK(files_of(ledger).size() == 1);  // those that were refused leave nothing
}

TEST_CASE("a rank has one loader at a time, where it can be seen") {
  const Arrays arrays(50);
  const fs::path ledger = arrays.folder / "ledger";
  std::optional<Loader> first(Loader(arrays.dataset(), options_with(ledger)));
  Loader second(arrays.dataset(), options_with(ledger));  // as long as the first has delivered nothing
  take(*first, 2);
  const std::string refused = cause_of([&] { second.next(); });
  CHECK(refused.find("it is in this process; close it first") != std::string::npos);
  Loader other_rank(arrays.dataset(), options_with(ledger, 1, 2));
  CHECK_NOTHROW(take(other_rank, 1));
  first.reset();
  CHECK_NOTHROW(take(second, 1));
}

TEST_CASE("a loader that gave nothing leaves no file") {
  const Arrays arrays(10);
  { const Loader loader(arrays.dataset(), options_with(arrays.folder / "ledger")); }
  CHECK(files_of(arrays.folder / "ledger").empty());
  CHECK(cause_of([&] { audit_ledger(arrays.folder / "ledger"); }).find("holds no ledger") != std::string::npos);
}

TEST_CASE("a full disk is an error of the constructor, or of next(), which loses no batch") {
  const Arrays arrays(3000);
  const fs::path ledger = arrays.folder / "ledger";
  {
    const FileSizeLimit full(5000);
    CHECK(cause_of([&] { Loader(arrays.dataset(), options_with(ledger)); }).find("ledger") != std::string::npos);
  }
  CHECK(files_of(ledger).empty());
  LoaderOptions options = options_with(ledger);
  options.batch_size = 1;
  Loader loader(arrays.dataset(), options);
  std::uint64_t batches = 0, refused = 0;
  {
    const FileSizeLimit full(4096 + (64 << 10));
    while (refused < 3) {
      try {
        batches += loader.next().has_value() ? 1U : 0U;
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::io);
        CHECK(error.cause().find("cannot write the ledger") != std::string::npos);
        ++refused;
      }
    }
  }
  CHECK(batches == 1022);
  while (loader.next()) ++batches;
  CHECK(batches == 3000);
  const LedgerAudit audit = audit_ledger(ledger);
  CHECK(audit.good());
  CHECK(audit.epochs.at(0).verdict == Verdict::proved);
}

TEST_CASE("a file that is cut short under a loader is an error, never the end of the process") {
  const Arrays arrays(50);
  const fs::path ledger = arrays.folder / "ledger";
  Loader loader(arrays.dataset(), options_with(ledger));
  take(loader, 1);
  fs::resize_file(files_of(ledger).at(0), 4096);
  CHECK(cause_of([&] { take(loader, 2); }).find("it was truncated") != std::string::npos);
}

TEST_CASE("a ledger that cannot be made is told") {
  const Arrays arrays(10);
  write_file(arrays.folder / "file", "");
  CHECK(cause_of([&] { Loader(arrays.dataset(), options_with(arrays.folder / "file")); }).find("ledger") !=
        std::string::npos);
  CHECK(cause_of([&] { audit_ledger(arrays.folder / "nothing"); }).find("cannot open the ledger") != std::string::npos);
}

TEST_CASE("files of two datasets in one folder are refused by an audit") {
  const TwoRanks made;
  const Arrays others(40);
  {
    Loader loader(others.dataset(), options_with(others.folder / "ledger"));
    take(loader, 1);
  }
  const fs::path other = files_of(others.folder / "ledger").at(0);
  fs::copy(other, made.ledger / other.filename());
  CHECK(cause_of([&] { audit_ledger(made.ledger); }).find("several datasets or orders") != std::string::npos);
  const Dataset wrong = others.dataset();
  CHECK(cause_of([&] { audit_ledger(others.folder / "ledger", nullptr); }) == "nothing was thrown");
  fs::remove(made.ledger / other.filename());
  CHECK(cause_of([&] { audit_ledger(made.ledger, &wrong); }).find("was written with another dataset") !=
        std::string::npos);
}

TEST_CASE("two loaders that deliver as one rank at the same time are told") {
  const Arrays arrays(50);
  const fs::path ledger = arrays.folder / "ledger";
  for (int i = 0; i < 2; ++i) {
    Loader loader(arrays.dataset(), options_with(ledger));
    take_epoch(loader);
  }
  CHECK(audit_ledger(ledger).good());
  Records first(files_of(ledger).at(0));
  for (std::size_t i = 1; i < first.count(); ++i) {
    LedgerRecord record = first.record(i);
    record.time += i * 20'000'000'000;
    first.put(i, record);
  }
  first.write();
  CHECK(has(audit_ledger(ledger).faults, "two loaders delivered as rank 0 of 1 at the same time"));
}

}  // namespace penstock::test::ledger_test
