#include <algorithm>
#include <span>
#include <utility>

#include <formats/io/file_bytes.hpp>
#include <penstock/error.hpp>
#include <record/ledger/reader.hpp>

namespace penstock {
namespace {

constexpr std::size_t kDamageTold = 10;  // damaged records per file that are listed separately

bool all_zeros(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

bool is_possible(const LedgerBatch& batch, std::uint64_t samples) {
  return batch.first <= batch.end && batch.end <= batch.reached && batch.reached <= batch.ends && batch.ends <= samples;
}

bool is_possible(const LedgerMove& move, std::uint64_t samples) {
  return move.start <= move.position && move.position <= samples;
}

class LedgerFileReader {
 public:
  LedgerFileReader(LedgerContent& content, std::size_t file) : content_(content), file_(file) {}

  void take(const LedgerRecord& record, std::uint64_t number) {
    if (content_.records++ == 0) content_.first_time = record.time;
    content_.last_time = std::max(content_.last_time, record.time);
    content_.ended = record.kind == LedgerRecord::Kind::end;
    if (record.kind == LedgerRecord::Kind::move) {
      begin(record, number);
    } else if (record.kind != LedgerRecord::Kind::end) {
      add(record, number);
    }
  }

  void damaged(std::uint64_t number, const char* how = "is damaged") {
    if (++damage_ <= kDamageTold) content_.faults.push_back("record " + std::to_string(number) + " " + how);
    if (damage_ == kDamageTold + 1) content_.faults.emplace_back("and more of its records are damaged");
  }

 private:
  const LoaderState& state() const { return content_.header->state; }

  void begin(const LedgerRecord& record, std::uint64_t number) {
    const LedgerMove move = LedgerMove::of(record);
    known_ = is_possible(move, state().samples);
    if (!known_) return damaged(number, "contains impossible values");
    content_.stretches.push_back({.file = file_,
                                  .time = record.time,
                                  .move = move,
                                  .world = state().world,
                                  .batch_size = state().batch_size,
                                  .rank = content_.header->rank});
  }

  void add(const LedgerRecord& record, std::uint64_t number) {
    const LedgerBatch batch = LedgerBatch::of(record);
    if (!known_) return damaged(number, "belongs to a damaged record");
    if (!is_possible(batch, state().samples)) return damaged(number, "contains impossible values");
    LedgerStretch& stretch = content_.stretches.back();
    ++stretch.batches;
    stretch.last_batch = batch.batch;
    stretch.reached = batch.reached;
    stretch.ends = batch.ends;
    if (batch.first == batch.end) return;
    const bool given = record.kind == LedgerRecord::Kind::batch;
    std::vector<LedgerRange>& ranges = given ? stretch.given : stretch.failed;
    if (!ranges.empty() && ranges.back().end == batch.first) {
      ranges.back().end = batch.end;
    } else {
      ranges.push_back({batch.first, batch.end});
    }
    if (given && batch.bad != 0) stretch.bad[batch.first] += batch.bad;
  }

  LedgerContent& content_;
  const std::size_t file_;
  bool known_ = false;  // the start of the following batches is known
  std::uint64_t damage_ = 0;
};

void read_records(std::span<const std::byte> bytes, LedgerFileReader& reader, LedgerContent& content) {
  std::size_t used = bytes.size();  // without the reserved zeros
  while (used > 0 && bytes[used - 1] == std::byte{0}) --used;
  const std::uint64_t records = (used + kLedgerRecordBytes - 1) / kLedgerRecordBytes;
  for (std::uint64_t number = 0; number < records; ++number) {
    const auto from = bytes.subspan(number * kLedgerRecordBytes);
    const bool last = number + 1 == records;
    const bool whole = from.size() >= kLedgerRecordBytes;
    if (const auto record = whole ? ledger_record(from.first<kLedgerRecordBytes>(), number) : std::nullopt) {
      reader.take(*record, number);
    } else if (last) {
      content.torn = true;
    } else {
      reader.damaged(number, all_zeros(from.first(kLedgerRecordBytes)) ? "is missing" : "is damaged");
    }
  }
}

}  // namespace

LedgerContent read_ledger_file(const LedgerFolder& folder, const std::string& name, std::size_t number) {
  LedgerContent content{.name = name};
  const FileBytes file(folder.open(name), folder.path() / name);
  try {
    ReadLedgerHeader read = ledger_header(file.bytes());
    content.header = std::move(read.header);
    LedgerFileReader reader(content, number);
    if (read.bytes < file.bytes().size()) read_records(file.bytes().subspan(read.bytes), reader, content);
  } catch (const Error& error) {
    content.faults.push_back(error.cause());
  }
  file.require_whole();
  std::erase_if(content.stretches, [](const LedgerStretch& stretch) { return stretch.batches == 0; });
  return content;
}

}  // namespace penstock
