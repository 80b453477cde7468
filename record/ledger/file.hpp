// The file that a loader appends its records to, through a mapping of its end: a record costs no system call, and what
// is in the mapping is the kernel's, so it survives the process however that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include <formats/io/descriptor.hpp>
#include <record/ledger/record.hpp>

namespace penstock {

/// One thread at a time uses it. In a child of fork() it is nobody's: its mapping is not there.
class LedgerFile {
 public:
  /// Makes the file with its header and room for the first records; it appears whole. `shown` is how errors call its
  /// folder. Throws Error: io.
  LedgerFile(const Descriptor& folder, std::string name, const std::filesystem::path& shown,
             std::span<const std::byte> header);
  ~LedgerFile() { close(); }
  LedgerFile(LedgerFile&&) = delete;

  /// The next two put() do not need the disk. Throws Error: io, for a full one: the file is then as it was; and once
  /// put() has failed.
  void make_room();
  /// Throws Error: io, where the file was cut short meanwhile: the record is then not in it.
  void put(const LedgerRecord& record);
  std::uint64_t records() const { return records_; }
  /// What was put survives the machine, too. Throws Error: io.
  void sync();
  /// Cuts off what was reserved; removes a file without records. Nothing can be put afterwards.
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
  std::uint64_t records_ = 0;  // that were put
  bool cut_ = false;           // by somebody else
  bool named_ = false;         // its name survives the machine, too
  std::uint64_t guarded_ = 0;  // against SIGBUS, by the time of the records
  std::byte* mapping_ = nullptr;
  std::uint64_t mapped_begin_ = 0, mapped_end_ = 0;  // bytes of the file
};

}  // namespace penstock
