// Makes a large table of numbers once for all processes of a machine that need the same one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include <formats/lists/number_table.hpp>

namespace penstock {

/// Many numbers of 4 or 8 bytes, as NumberTable has them. Constant once they are filled.
class SharedNumbers {
 public:
  std::uint64_t size() const { return count_; }
  bool wide() const { return wide_; }
  std::uint64_t operator[](std::uint64_t i) const {
    return wide_ ? static_cast<const std::uint64_t*>(data_)[i] : static_cast<const std::uint32_t*>(data_)[i];
  }
  /// Of numbers of 8 bytes; of others null.
  const std::uint64_t* longs() const { return wide_ ? static_cast<const std::uint64_t*>(data_) : nullptr; }
  void set(std::uint64_t i, std::uint64_t number) {
    if (wide_) {
      static_cast<std::uint64_t*>(data_)[i] = number;
    } else {
      static_cast<std::uint32_t*>(data_)[i] = static_cast<std::uint32_t>(number);
    }
  }
  bool is_shared() const { return own_ == nullptr; }  ///< with whoever asks for it

 private:
  friend class SharedFile;
  friend std::shared_ptr<const SharedNumbers> shared_numbers(std::string_view name, std::uint64_t count,
                                                             std::uint64_t largest,
                                                             const std::function<void(SharedNumbers&)>& fill);
  SharedNumbers(std::uint64_t count, bool wide) : count_(count), wide_(wide) {}

  std::uint64_t count_;
  bool wide_;
  void* data_ = nullptr;
  std::unique_ptr<NumberTable> own_ = {};     // either this
  std::shared_ptr<const void> mapping_ = {};  // or the mapping of a file, and a hold on it
};

/// A table of `count` numbers up to `largest` that `fill` makes. Tables of NumberTable::kInMemory bytes and more are
/// shared by all processes of this user: the first that asks for `name`, which says everything that the numbers are a
/// function of, fills a file in a folder of its own below $TMPDIR or /tmp, which others wait for and map. The last one
/// that has it removes it; what killed processes left is removed by the next that makes one. Where that folder cannot
/// be had (another user's, no room, no locks) a process has a table of its own. Throws what NumberTable and `fill`
/// throw.
std::shared_ptr<const SharedNumbers> shared_numbers(std::string_view name, std::uint64_t count, std::uint64_t largest,
                                                    const std::function<void(SharedNumbers&)>& fill);

}  // namespace penstock
