// The list of samples of a view: numbers of another dataset's samples, in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <formats/lists/number_table.hpp>
#include <formats/lists/sample_bits.hpp>

namespace penstock {

/// Immutable, and cheap to copy: copies and slices share large data. Runs of consecutive numbers are stored as runs.
/// Increasing parts are stored as bits if these are smaller. Other parts are stored as numbers of 4 or 8 bytes, above
/// some millions in a temporary file (number_table.hpp). Access to a position takes O(1), plus the logarithm of the
/// number of concatenated parts.
class SampleList {
 public:
  SampleList() = default;  ///< an empty list
  static SampleList range(std::uint64_t first, std::uint64_t count);
  static SampleList of(std::span<const std::uint64_t> numbers);
  static SampleList of(std::shared_ptr<const NumberTable> numbers);

  std::uint64_t size() const { return parts_.empty() ? 0 : parts_.back().position + parts_.back().count; }
  bool empty() const { return parts_.empty(); }
  bool is_run() const {  ///< true for consecutive numbers
    return parts_.size() == 1 && parts_.front().bits == nullptr && parts_.front().numbers == nullptr;
  }
  std::uint64_t operator[](std::uint64_t position) const {  ///< position < size()
    const Part& part = parts_.size() == 1 ? parts_.front() : holder(position);
    return part.at(position - part.position);
  }
  /// Returns the first position of the number. The search is linear if the numbers do not increase.
  std::optional<std::uint64_t> find(std::uint64_t number) const;
  /// Calls `take` with runs of consecutive numbers, (first number, count), in the list's order.
  void for_each_run(const std::function<void(std::uint64_t, std::uint64_t)>& take) const;

  SampleList slice(std::uint64_t first, std::uint64_t count) const;  ///< positions must be inside the list
  SampleList at(const SampleList& positions) const;                  ///< the numbers at those positions
  SampleList shifted(std::uint64_t by) const;                        ///< each number plus `by`
  void append(const SampleList& other);

  std::uint64_t bytes() const;  ///< approximate anonymous memory

 private:
  struct Numbers {
    std::shared_ptr<const NumberTable> table;
    bool increasing;
  };

  struct Part {
    std::uint64_t position;  // position of its first number in the list
    std::uint64_t count;
    std::uint64_t base;      // added to each number; for a run, its first number
    std::uint64_t skip = 0;  // skipped numbers at the start of the bits or the table
    std::shared_ptr<const SampleBits> bits = {};
    std::shared_ptr<const Numbers> numbers = {};

    std::uint64_t at(std::uint64_t i) const {
      if (bits != nullptr) return base + (*bits)[skip + i];
      if (numbers != nullptr) return base + (*numbers->table)[skip + i];
      return base + i;
    }
    std::optional<std::uint64_t> find(std::uint64_t number) const;
  };

  friend class SampleListBuilder;
  const Part& holder(std::uint64_t position) const;
  void add(Part part);

  std::vector<Part> parts_;
};

/// Builds a list from single numbers. While the numbers increase they are stored as bits, so a selection from many
/// samples needs little memory.
class SampleListBuilder {
 public:
  SampleListBuilder() = default;
  void add(std::uint64_t number);
  std::uint64_t size() const { return size_; }
  SampleList finish() &&;

 private:
  static constexpr std::uint64_t kFew = std::uint64_t{1} << 16;

  void add_bit(std::uint64_t number);
  void add_to_table(std::uint64_t number);
  void leave_few();
  void leave_bits();

  enum class Form { few, bits, table } form_ = Form::few;
  std::vector<std::uint64_t> few_;
  std::vector<std::uint64_t> words_;
  std::unique_ptr<NumberTable> table_;
  std::uint64_t size_ = 0, last_ = 0;
  bool increasing_ = true;
};

}  // namespace penstock
