// A large array of numbers of 4 or 8 bytes: in memory, or above some millions in a mapped, unnamed temporary file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

class NumberTable {
 public:
  /// From this size on, the numbers are stored in a file in $TMPDIR or /tmp. The file has no name, so a crash leaves
  /// nothing.
  static constexpr std::uint64_t kInMemory = std::uint64_t{16} << 20;

  /// Creates `count` zeros that can hold numbers up to `largest`. Throws Error: io, with the folder of temporary files;
  /// resource.
  NumberTable(std::uint64_t count, std::uint64_t largest);
  NumberTable(NumberTable&&) = delete;
  ~NumberTable();

  std::uint64_t size() const { return count_; }
  std::uint64_t operator[](std::uint64_t i) const { return wide_ ? longs()[i] : shorts()[i]; }
  void set(std::uint64_t i, std::uint64_t number) {
    if (wide_) {
      longs()[i] = number;
    } else {
      shorts()[i] = static_cast<std::uint32_t>(number);
    }
  }
  bool wide() const { return wide_; }  ///< 8 bytes per number, else 4
  bool in_file() const { return mapped_ != nullptr; }
  std::span<std::uint32_t> shorts() const { return {static_cast<std::uint32_t*>(data_), wide_ ? 0 : count_}; }
  std::span<std::uint64_t> longs() const { return {static_cast<std::uint64_t*>(data_), wide_ ? count_ : 0}; }

 private:
  std::uint64_t count_;
  bool wide_;
  std::vector<std::uint64_t> memory_ = {};
  void* mapped_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace penstock
