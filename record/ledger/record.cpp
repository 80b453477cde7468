#include <bit>
#include <cstring>

#include <formats/io/crc32c.hpp>
#include <record/ledger/record.hpp>

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "records are written as they are in memory");

std::uint32_t ledger_checksum(const LedgerWords& words, std::uint64_t number) {
  const auto bytes = std::as_bytes(std::span(words)).subspan(sizeof(std::uint32_t));
  return crc32c(bytes, crc32c(std::as_bytes(std::span(&number, 1))));
}

bool is_ledger_kind(std::uint64_t kind) {
  return kind >= static_cast<std::uint64_t>(LedgerRecord::Kind::move) &&
         kind <= static_cast<std::uint64_t>(LedgerRecord::Kind::none);
}

}  // namespace

LedgerWords words_of(const LedgerRecord& record, std::uint64_t number) {
  LedgerWords words{std::uint64_t{static_cast<std::uint32_t>(record.kind)} << 32, record.time};
  for (std::size_t i = 0; i < record.numbers.size(); ++i) words[i + 2] = record.numbers[i];
  words[0] |= ledger_checksum(words, number);
  return words;
}

std::optional<LedgerRecord> ledger_record(std::span<const std::byte, kLedgerRecordBytes> bytes, std::uint64_t number) {
  LedgerWords words{};
  std::memcpy(words.data(), bytes.data(), bytes.size());
  const std::uint64_t kind = words[0] >> 32;
  if (!is_ledger_kind(kind) || static_cast<std::uint32_t>(words[0]) != ledger_checksum(words, number))
    return std::nullopt;
  LedgerRecord record{.kind = static_cast<LedgerRecord::Kind>(kind), .time = words[1]};
  for (std::size_t i = 0; i < record.numbers.size(); ++i) record.numbers[i] = words[i + 2];
  return record;
}

}  // namespace penstock
