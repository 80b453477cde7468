// Builds a large table of numbers once for all processes of a machine that need the same table.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include <formats/lists/number_table.hpp>

namespace penstock {

/// Many numbers of 4 or 8 bytes, as in NumberTable. Constant after they are filled.
class SharedNumbers {
 public:
  std::uint64_t size() const { return count_; }
  bool wide() const { return wide_; }
  std::uint64_t operator[](std::uint64_t i) const {
    return wide_ ? static_cast<const std::uint64_t*>(data_)[i] : static_cast<const std::uint32_t*>(data_)[i];
  }
  /// Null unless the numbers have 8 bytes.
  const std::uint64_t* longs() const { return wide_ ? static_cast<const std::uint64_t*>(data_) : nullptr; }
  void set(std::uint64_t i, std::uint64_t number) {
    if (wide_) {
      static_cast<std::uint64_t*>(data_)[i] = number;
    } else {
      static_cast<std::uint32_t*>(data_)[i] = static_cast<std::uint32_t>(number);
    }
  }
  bool is_shared() const { return own_ == nullptr; }  ///< with other processes

 private:
  friend class SharedFile;
  friend std::shared_ptr<const SharedNumbers> shared_numbers(std::string_view name, std::uint64_t count,
                                                             std::uint64_t largest,
                                                             const std::function<void(SharedNumbers&)>& fill);
  SharedNumbers(std::uint64_t count, bool wide) : count_(count), wide_(wide) {}

  std::uint64_t count_;
  bool wide_;
  void* data_ = nullptr;
  std::unique_ptr<NumberTable> own_ = {};     // either this member is set
  std::shared_ptr<const void> mapping_ = {};  // or this one: the mapping of a file, and its lock
};

/// Returns a table of `count` numbers up to `largest`, computed by `fill`. All processes of this user share tables of
/// at least NumberTable::kInMemory bytes. `name` must contain everything that the numbers depend on. The first process
/// fills a file in the user's own folder below $TMPDIR or /tmp. Other processes wait for the file and map it. The last
/// process that uses the file removes it. The next process that makes a table removes files of killed processes. If the
/// folder is not usable (another user's, no space, no locks), each process has its own table. Throws the errors of
/// NumberTable and `fill`.
std::shared_ptr<const SharedNumbers> shared_numbers(std::string_view name, std::uint64_t count, std::uint64_t largest,
                                                    const std::function<void(SharedNumbers&)>& fill);

}  // namespace penstock
