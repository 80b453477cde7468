// The list of samples that a view consists of: numbers of another dataset's samples, in any order.
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

/// Immutable, and cheap to copy: copies and slices share what is large. It holds runs of neighbouring numbers as such,
/// a part in increasing order as bits where these are smaller, and others as numbers of 4 or 8 bytes, from some
/// millions on in a temporary file (number_table.hpp). A position takes O(1), and the logarithm of the number of parts
/// that were concatenated.
class SampleList {
 public:
  SampleList() = default;  ///< of no samples
  static SampleList range(std::uint64_t first, std::uint64_t count);
  static SampleList of(std::span<const std::uint64_t> numbers);
  static SampleList of(std::shared_ptr<const NumberTable> numbers);

  std::uint64_t size() const { return parts_.empty() ? 0 : parts_.back().position + parts_.back().count; }
  bool empty() const { return parts_.empty(); }
  bool is_run() const {  ///< of neighbouring numbers
    return parts_.size() == 1 && parts_.front().bits == nullptr && parts_.front().numbers == nullptr;
  }
  std::uint64_t operator[](std::uint64_t position) const {  ///< position < size()
    const Part& part = parts_.size() == 1 ? parts_.front() : holder(position);
    return part.at(position - part.position);
  }
  /// The first position at which the number stands. Of numbers that do not increase it is looked for one by one.
  std::optional<std::uint64_t> find(std::uint64_t number) const;
  /// Calls `take` with runs of neighbouring numbers, (first number, count), in the list's order.
  void for_each_run(const std::function<void(std::uint64_t, std::uint64_t)>& take) const;

  SampleList slice(std::uint64_t first, std::uint64_t count) const;  ///< of positions; inside the list
  SampleList at(const SampleList& positions) const;                  ///< the numbers at those positions
  SampleList shifted(std::uint64_t by) const;                        ///< each number plus `by`
  void append(const SampleList& other);

  std::uint64_t bytes() const;  ///< of anonymous memory, about

 private:
  struct Numbers {
    std::shared_ptr<const NumberTable> table;
    bool increasing;
  };

  struct Part {
    std::uint64_t position;  // in the list, of its first number
    std::uint64_t count;
    std::uint64_t base;      // added to each number; of a run, its first number
    std::uint64_t skip = 0;  // of the bits' or the table's numbers
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

/// Takes the numbers of a list one by one; what it holds while they increase are bits, so a choice among many samples
/// needs little memory.
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
