#include <algorithm>
#include <bit>
#include <cstddef>

#include <formats/lists/sample_bits.hpp>

namespace penstock {
namespace {

// Returns the position of the set bit that has `rank` set bits below it.
unsigned select_in_word(std::uint64_t word, std::uint64_t rank) {
  unsigned at = 0;
  for (unsigned half = 32; half != 0; half /= 2) {
    const auto low = static_cast<std::uint64_t>(std::popcount(word & ((std::uint64_t{1} << half) - 1)));
    if (rank < low) continue;
    rank -= low;
    word >>= half;
    at += half;
  }
  return at;
}

}  // namespace

SampleBits::SampleBits(std::vector<std::uint64_t> words) : words_(std::move(words)) {
  words_.resize((words_.size() + kWordsOfBlock) / kWordsOfBlock * kWordsOfBlock);
  for (std::size_t word = 0; word < words_.size(); ++word) {
    if (word % kWordsOfBlock == 0) before_.push_back(size_);
    const auto ones = static_cast<std::uint64_t>(std::popcount(words_[word]));
    while (hints_.size() * kHintEvery < size_ + ones) hints_.push_back(word / kWordsOfBlock);
    size_ += ones;
  }
  before_.push_back(size_);
  hints_.push_back(before_.size() - 2);
  words_.shrink_to_fit();
  before_.shrink_to_fit();
  hints_.shrink_to_fit();
}

std::uint64_t SampleBits::operator[](std::uint64_t place) const {
  const std::uint64_t hint = place / kHintEvery;
  const auto first = before_.begin() + static_cast<std::ptrdiff_t>(hints_[hint]);
  const auto end = before_.begin() + static_cast<std::ptrdiff_t>(hints_[hint + 1]) + 1;
  const auto block = std::upper_bound(first, end, place) - before_.begin() - 1;
  std::uint64_t rank = place - before_[static_cast<std::size_t>(block)];
  for (std::uint64_t word = static_cast<std::uint64_t>(block) * kWordsOfBlock;; ++word) {
    const auto ones = static_cast<std::uint64_t>(std::popcount(words_[word]));
    if (rank < ones) return word * kWord + select_in_word(words_[word], rank);
    rank -= ones;
  }
}

std::uint64_t SampleBits::below(std::uint64_t number) const {
  const std::uint64_t last = std::min<std::uint64_t>(number / kWord, words_.size());
  if (last == words_.size()) return size_;
  const std::uint64_t block = last / kWordsOfBlock;
  std::uint64_t sum = before_[block];
  for (std::uint64_t word = block * kWordsOfBlock; word < last; ++word)
    sum += static_cast<std::uint64_t>(std::popcount(words_[word]));
  return sum + static_cast<std::uint64_t>(std::popcount(words_[last] & ((std::uint64_t{1} << (number % kWord)) - 1)));
}

std::uint64_t SampleBits::bytes() const {
  return (words_.capacity() + before_.capacity() + hints_.capacity()) * sizeof(std::uint64_t);
}

}  // namespace penstock
