// A set of numbers as bits,
// with fast access to the i-th number and to the position of a number
//
// .
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace penstock {

/// Takes about 1.2 bits for each number of the range that it spans.
class SampleBits {
 public:
  static constexpr std::uint64_t kWord = 64;

  explicit SampleBits(std::vector<std::uint64_t> words);  ///< bit i % 64 of word i / 64 is number i
  std::uint64_t size() const { return size_; }
  std::uint64_t operator[](std::uint64_t place) const;  ///< place < size()
  bool has(std::uint64_t number) const {
    return number / kWord < words_.size() && (words_[number / kWord] >> (number % kWord) & 1) != 0;
  }
  std::uint64_t below(std::uint64_t number) const;  ///< count of elements less than `number`
  std::uint64_t bytes() const;

 private:
  static constexpr std::uint64_t kWordsOfBlock = 8, kHintEvery = 512;

  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> before_;  // count of elements before each block of words; at the end, the total
  std::vector<std::uint64_t> hints_;   // block that contains place 0, kHintEvery, ...; at the end, the last block
  std::uint64_t size_ = 0;
};

}  // namespace penstock
