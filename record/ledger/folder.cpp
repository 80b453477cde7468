#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include <formats/io/folder_entries.hpp>
#include <penstock/error.hpp>
#include <record/ledger/folder.hpp>
#include <record/ledger/record.hpp>

namespace penstock {
namespace {

constexpr std::string_view kLedgerEnding = ".ledger";
constexpr std::size_t kBegunDigits = 20;
constexpr std::size_t kHeaderAtOnce = 64 << 10;

}  // namespace

LedgerFolder::LedgerFolder(Descriptor folder, const std::filesystem::path& path)
    : folder_(std::move(folder)), path_(path) {
  std::error_code failure;
  whole_path_ = std::filesystem::absolute(path, failure);  // stays valid if the program changes its working directory
  if (failure) throw Error::io(failure.value(), "cannot open the ledger " + path.string());
}

LedgerFolder LedgerFolder::made(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) throw Error::io(failure.value(), "cannot create the folder of the ledger " + path.string());
  return opened(path);
}

LedgerFolder LedgerFolder::opened(const std::filesystem::path& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) throw Error::io(errno, "cannot open the ledger " + path.string());
  return {Descriptor(folder), path};
}

std::vector<std::string> LedgerFolder::names() const {
  std::vector<std::string> names;
  visit_names(whole_path_, [&](const char* name) {
    if (ledger_begun(name) != 0) names.emplace_back(name);
    return true;
  });
  std::ranges::sort(names);
  return names;
}

Descriptor LedgerFolder::open(const std::string& name) const {
  const int file = ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) throw Error::io(errno, "cannot open " + (path_ / name).string());
  return Descriptor(file);
}

std::optional<ReadLedgerHeader> LedgerFolder::header(const std::string& name) const {
  try {
    const Descriptor file = open(name);
    for (std::size_t length = kHeaderAtOnce;; length *= 16) {
      std::vector<std::byte> bytes(length);
      bytes.resize(read_at(file.get(), bytes, 0, path_ / name));
      const bool all = bytes.size() < length;
      try {
        return ledger_header(bytes);
      } catch (const Error&) {
        if (all || length > (std::size_t{64} << 20)) throw;
      }
    }
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool LedgerFolder::delivers(const std::string& name, std::uint64_t header_bytes) const {
  const Descriptor file = open(name);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) throw Error::io(errno, "cannot get the status of " + (path_ / name).string());
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (size < header_bytes + kLedgerRecordBytes) return false;
  const auto record = [&](std::uint64_t number) {
    std::array<std::byte, kLedgerRecordBytes> bytes{};
    read_at(file.get(), bytes, header_bytes + number * kLedgerRecordBytes, path_ / name);
    return ledger_record(bytes, number);
  };
  const auto last = record((size - header_bytes) / kLedgerRecordBytes - 1);
  return record(0) && !(last && last->kind == LedgerRecord::Kind::end);
}

std::string ledger_name(const LedgerHeader& header) {
  std::string begun = std::to_string(header.begun);
  begun.insert(0, kBegunDigits - std::min(kBegunDigits, begun.size()), '0');
  return begun + "-" + std::to_string(header.rank) + "-of-" + std::to_string(header.state.world) + "-" +
         std::to_string(header.process.identity.pid) + std::string(kLedgerEnding);
}

std::uint64_t ledger_begun(const std::string& name) {
  if (!name.ends_with(kLedgerEnding) || name.size() <= kBegunDigits || name[kBegunDigits] != '-') return 0;
  std::uint64_t begun = 0;
  const char* const end = name.data() + kBegunDigits;
  const auto [behind, fault] = std::from_chars(name.data(), end, begun);
  return fault == std::errc{} && behind == end ? begun : 0;
}

}  // namespace penstock
