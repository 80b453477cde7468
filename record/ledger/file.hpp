// The file that a loader appends its records to. It writes through a mapping of the file's end, so a record needs no
// system call. The kernel keeps mapped pages, so records survive the process however it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include <formats/io/descriptor.hpp>
#include <record/ledger/record.hpp>

namespace penstock {

/// Not thread-safe: only one thread at a time may use it. A child of fork() cannot use it, because it does not
/// inherit the mapping.
class LedgerFile {
 public:
  /// Makes the file with its header and room for the first records. It appears under its name only when it is
  /// complete. Errors call its folder `shown`. Throws Error: io.
  LedgerFile(const Descriptor& folder, std::string name, const std::filesystem::path& shown,
             std::span<const std::byte> header);
  ~LedgerFile() { close(); }
  LedgerFile(LedgerFile&&) = delete;

  /// Makes room for the next two put(), which then need no disk space. Throws Error: io, if the disk is full; the
  /// file is then unchanged. Also throws Error: io after a put() has failed.
  void make_room();
  /// Appends a record. Throws Error: io, if another program has truncated the file; it then does not contain the
  /// record.
  void put(const LedgerRecord& record);
  std::uint64_t records() const { return records_; }
  /// Makes all records survive a crash of the machine. Throws Error: io.
  void sync();
  /// Truncates the reserved room and removes a file without records. No record can be appended afterwards.
  void close() noexcept;
  std::string path() const { return (shown_ / name_).string(); }

 private:
  void reserve(std::uint64_t end);
  void map(std::uint64_t begin, std::uint64_t end);
  void unmap() noexcept;
  [[noreturn]] void is_cut() const;
  std::uint64_t place(std::uint64_t number) const { return header_bytes_ + number * kLedgerRecordBytes; }

  Descriptor folder_;
  const std::string name_;
  const std::filesystem::path shown_;
  const std::uint64_t header_bytes_;
  Descriptor file_;
  std::uint64_t size_ = 0;     // of the file
  std::uint64_t records_ = 0;  // appended so far
  bool cut_ = false;           // another program truncated it
  bool named_ = false;         // its name survives a crash of the machine, too
  std::uint64_t guarded_ = 0;  // when a SIGBUS handler was last installed, as a time of the records
  std::byte* mapping_ = nullptr;
  std::uint64_t mapped_begin_ = 0, mapped_end_ = 0;  // offsets in the file
};

}  // namespace penstock
