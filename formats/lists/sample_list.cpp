#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <formats/lists/sample_list.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kWord = SampleBits::kWord;
constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kShort = std::numeric_limits<std::uint32_t>::max();

bool increase(const NumberTable& table) {
  for (std::uint64_t i = 1; i < table.size(); ++i) {
    if (table[i] <= table[i - 1]) return false;
  }
  return true;
}

// For `count` increasing numbers over a range of `span`.
bool smaller_as_bits(std::uint64_t count, std::uint64_t span) {
  return span / 6 < count * 4;
}

}  // namespace

SampleList SampleList::range(std::uint64_t first, std::uint64_t count) {
  SampleList list;
  if (count != 0) list.parts_.push_back({.position = 0, .count = count, .base = first});
  return list;
}

SampleList SampleList::of(std::span<const std::uint64_t> numbers) {
  SampleListBuilder builder;
  for (const std::uint64_t number : numbers) builder.add(number);
  return std::move(builder).finish();
}

SampleList SampleList::of(std::shared_ptr<const NumberTable> table) {
  SampleList list;
  const std::uint64_t count = table->size();
  if (count == 0) return list;
  const bool increasing = increase(*table);
  if (increasing && (*table)[count - 1] - (*table)[0] == count - 1) return range((*table)[0], count);
  auto numbers = std::make_shared<const Numbers>(Numbers{std::move(table), increasing});
  list.parts_.push_back({.position = 0, .count = count, .base = 0, .numbers = std::move(numbers)});
  return list;
}

const SampleList::Part& SampleList::holder(std::uint64_t position) const {
  const auto next = std::upper_bound(parts_.begin(), parts_.end(), position,
                                     [](std::uint64_t value, const Part& part) { return value < part.position; });
  return *(next - 1);
}

std::optional<std::uint64_t> SampleList::Part::find(std::uint64_t number) const {
  if (number < base) return std::nullopt;
  const std::uint64_t own = number - base;
  if (bits != nullptr) {
    const std::uint64_t place = bits->has(own) ? bits->below(own) : kLargest;
    return place != kLargest && place >= skip && place - skip < count ? std::optional(place - skip) : std::nullopt;
  }
  if (numbers == nullptr) return own < count ? std::optional(own) : std::nullopt;
  const NumberTable& table = *numbers->table;
  if (!numbers->increasing) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (table[skip + i] == own) return i;
    }
    return std::nullopt;
  }
  std::uint64_t first = 0, end = count;
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (table[skip + middle] < own) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first < count && table[skip + first] == own ? std::optional(first) : std::nullopt;
}

std::optional<std::uint64_t> SampleList::find(std::uint64_t number) const {
  for (const Part& part : parts_) {
    if (const auto place = part.find(number)) return part.position + *place;
  }
  return std::nullopt;
}

void SampleList::for_each_run(const std::function<void(std::uint64_t, std::uint64_t)>& take) const {
  std::uint64_t first = 0, count = 0;
  const auto add = [&](std::uint64_t number, std::uint64_t more) {
    if (count != 0 && number == first + count) {
      count += more;
      return;
    }
    if (count != 0) take(first, count);
    first = number;
    count = more;
  };
  for (const Part& part : parts_) {
    if (part.bits == nullptr && part.numbers == nullptr) {
      add(part.base, part.count);
    } else {
      for (std::uint64_t i = 0; i < part.count; ++i) add(part.at(i), 1);
    }
  }
  if (count != 0) take(first, count);
}

// Merges neighbouring parts of the same kind, so that a list that was cut and concatenated again is as before.
void SampleList::add(Part part) {
  if (part.count == 0) return;
  part.position = size();
  if (!parts_.empty()) {
    Part& last = parts_.back();
    const bool alike = last.bits == part.bits && last.numbers == part.numbers;
    const bool run = part.bits == nullptr && part.numbers == nullptr;
    const bool goes_on =
        run ? last.base + last.count == part.base : last.base == part.base && last.skip + last.count == part.skip;
    if (alike && goes_on) {
      last.count += part.count;
      return;
    }
  }
  parts_.push_back(std::move(part));
}

SampleList SampleList::slice(std::uint64_t first, std::uint64_t count) const {
  SampleList list;
  const std::uint64_t end = first + count;
  for (const Part& part : parts_) {
    const std::uint64_t from = std::max(first, part.position), to = std::min(end, part.position + part.count);
    if (from >= to) continue;
    Part cut = part;
    const bool run = part.bits == nullptr && part.numbers == nullptr;
    (run ? cut.base : cut.skip) += from - part.position;
    cut.count = to - from;
    list.add(std::move(cut));
  }
  return list;
}

SampleList SampleList::at(const SampleList& positions) const {
  if (is_run()) return positions.shifted(parts_.front().base);
  SampleList list;
  for (const Part& part : positions.parts_) {
    if (part.bits == nullptr && part.numbers == nullptr) {
      list.append(slice(part.base, part.count));
    } else {
      SampleListBuilder builder;
      for (std::uint64_t i = 0; i < part.count; ++i) builder.add((*this)[part.at(i)]);
      list.append(std::move(builder).finish());
    }
  }
  return list;
}

SampleList SampleList::shifted(std::uint64_t by) const {
  SampleList list = *this;
  for (Part& part : list.parts_) part.base += by;
  return list;
}

void SampleList::append(const SampleList& other) {
  const std::vector<Part> parts = other.parts_;  // a copy, because `other` may be this list
  for (const Part& part : parts) add(part);
}

std::uint64_t SampleList::bytes() const {
  std::uint64_t sum = parts_.capacity() * sizeof(Part);
  const SampleBits* bits = nullptr;
  const Numbers* numbers = nullptr;
  for (const Part& part : parts_) {
    if (part.bits != nullptr && part.bits.get() != bits) sum += part.bits->bytes();
    if (part.numbers != nullptr && part.numbers.get() != numbers && !part.numbers->table->in_file())
      sum += part.numbers->table->size() * (part.numbers->table->wide() ? 8 : 4);
    bits = part.bits.get();
    numbers = part.numbers.get();
  }
  return sum;
}

void SampleListBuilder::add(std::uint64_t number) {
  if (size_ != 0 && number <= last_) increasing_ = false;
  if (form_ == Form::few && size_ == kFew) leave_few();
  if (form_ == Form::bits && (!increasing_ || !smaller_as_bits(size_ + 1, number))) leave_bits();
  if (form_ == Form::few) few_.push_back(number);
  if (form_ == Form::bits) add_bit(number);
  if (form_ == Form::table) add_to_table(number);
  last_ = number;
  ++size_;
}

void SampleListBuilder::add_bit(std::uint64_t number) {
  const std::uint64_t word = number / kWord;
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (number % kWord);
}

void SampleListBuilder::add_to_table(std::uint64_t number) {
  if (table_ == nullptr || size_ == table_->size() || (number > kShort && !table_->wide())) {
    const bool wide = number > kShort || (table_ != nullptr && table_->wide());
    auto larger = std::make_unique<NumberTable>(std::max(2 * size_, 2 * kFew), wide ? kLargest : kShort);
    for (std::uint64_t i = 0; i < size_; ++i) larger->set(i, (*table_)[i]);
    table_ = std::move(larger);
  }
  table_->set(size_, number);
}

void SampleListBuilder::leave_few() {
  const std::vector<std::uint64_t> numbers = std::exchange(few_, {});
  form_ = increasing_ && smaller_as_bits(size_, numbers.back()) ? Form::bits : Form::table;
  if (form_ == Form::bits) {
    for (const std::uint64_t number : numbers) add_bit(number);
    return;
  }
  size_ = 0;
  for (const std::uint64_t number : numbers) {
    add_to_table(number);
    ++size_;
  }
}

void SampleListBuilder::leave_bits() {
  const std::vector<std::uint64_t> words = std::exchange(words_, {});
  form_ = Form::table;
  size_ = 0;
  for (std::uint64_t word = 0; word < words.size(); ++word) {
    for (std::uint64_t left = words[word]; left != 0; left &= left - 1) {
      add_to_table(word * kWord + static_cast<std::uint64_t>(std::countr_zero(left)));
      ++size_;
    }
  }
}

SampleList SampleListBuilder::finish() && {
  if (size_ == 0) return {};
  if (form_ == Form::bits) {
    auto bits = std::make_shared<const SampleBits>(std::move(words_));
    const std::uint64_t first = (*bits)[0];
    if (last_ - first == size_ - 1) return SampleList::range(first, size_);
    SampleList list;
    list.add({.position = 0, .count = size_, .base = 0, .bits = std::move(bits)});
    return list;
  }
  const auto number = [&](std::uint64_t i) { return form_ == Form::few ? few_[i] : (*table_)[i]; };
  std::uint64_t least = kLargest, largest = 0;
  for (std::uint64_t i = 0; i < size_; ++i) {
    least = std::min(least, number(i));
    largest = std::max(largest, number(i));
  }
  if (increasing_ && largest - least == size_ - 1) return SampleList::range(least, size_);
  SampleList list;
  if (increasing_ && smaller_as_bits(size_, largest - least)) {
    std::vector<std::uint64_t> words((largest - least) / kWord + 1);
    for (std::uint64_t i = 0; i < size_; ++i) {
      const std::uint64_t own = number(i) - least;
      words[own / kWord] |= std::uint64_t{1} << (own % kWord);
    }
    auto bits = std::make_shared<const SampleBits>(std::move(words));
    list.add({.position = 0, .count = size_, .base = least, .bits = std::move(bits)});
    return list;
  }
  auto table = std::make_shared<NumberTable>(size_, largest - least);
  for (std::uint64_t i = 0; i < size_; ++i) table->set(i, number(i) - least);
  auto numbers = std::make_shared<const SampleList::Numbers>(SampleList::Numbers{std::move(table), increasing_});
  list.add({.position = 0, .count = size_, .base = least, .numbers = std::move(numbers)});
  return list;
}

}  // namespace penstock
