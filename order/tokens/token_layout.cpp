#include <algorithm>

#include <formats/io/hash.hpp>
#include <order/tokens/best_fit.hpp>
#include <order/tokens/token_layout.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kFitTick = 65'536;

/// The first place in [first, end) whose number is above `value`; `end` if there is none.
std::uint64_t first_above(const SharedNumbers& table, std::uint64_t value, std::uint64_t first, std::uint64_t end) {
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (table[middle] > value) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

constexpr std::uint64_t kCutTick = 65'536;

}  // namespace

BestFitBlocks::BestFitBlocks(const TokenDocuments& documents, std::uint64_t length, std::uint64_t window,
                             std::uint64_t mark, const std::function<void()>& tick)
    : documents_(documents),
      length_(length),
      window_(std::min(window, documents.size())),
      table_(shared_numbers("tokens-fit-" + hexadecimal(mark), 3 * documents.size() + 1 + windows() + 1,
                            std::max(documents.tokens() / length, documents.size()),
                            [&](SharedNumbers& table) { fill(table, tick); })) {
  for (std::uint64_t number = 0; number <= windows(); ++number) {
    const std::uint64_t bin = bins_before(number), first = std::min(number * window_, documents.size());
    windows_.push_back({.block = fulls(first) + bin, .bin = bin});
  }
}

void BestFitBlocks::fill(SharedNumbers& table, const std::function<void()>& tick) const {
  const std::uint64_t documents = documents_.size();
  std::uint64_t fulls = 0, placed = 0, bins = 0;
  std::vector<std::uint32_t> rests, positions;  // of a window, from its first position on
  BestFit packer(length_);
  for (std::uint64_t number = 0; number < windows(); ++number) {
    const std::uint64_t first = number * window_, end = std::min(first + window_, documents);
    table.set(3 * documents + 1 + number, bins);
    rests.clear();
    positions.clear();
    for (std::uint64_t position = first; position < end; ++position) {
      if (tick && position % kFitTick == 0) tick();
      const std::uint64_t tokens = documents_.tokens(position);
      table.set(position, fulls += tokens / length_);
      if (tokens % length_ == 0) continue;
      rests.push_back(static_cast<std::uint32_t>(tokens % length_));
      positions.push_back(static_cast<std::uint32_t>(position - first));
    }
    packer.pack(rests);
    for (const std::uint32_t begin : packer.begins()) table.set(2 * documents + bins++, placed + begin);
    for (const std::uint32_t item : packer.items()) table.set(documents + placed++, first + positions[item]);
  }
  table.set(3 * documents + 1 + windows(), bins);
  table.set(2 * documents + bins, placed);
}

void BestFitBlocks::find(std::uint64_t block, std::vector<TokenSegment>& segments) const {
  segments.clear();
  const auto next = std::ranges::upper_bound(windows_, block, {}, &Window::block);
  const auto number = static_cast<std::uint64_t>(next - windows_.begin()) - 1;
  const Window& window = windows_[number];
  const std::uint64_t first = number * window_, end = std::min(first + window_, documents_.size());
  const std::uint64_t full = fulls(first) + (block - window.block);
  if (full < fulls(end)) {
    const std::uint64_t position = first_above(*table_, full, first, end);
    segments.push_back({.position = position, .first = (full - fulls(position)) * length_, .count = length_});
    return;
  }
  const std::uint64_t bin = window.bin + (full - fulls(end));
  for (std::uint64_t place = begin(bin); place < begin(bin + 1); ++place) {
    const std::uint64_t position = placed(place), tokens = documents_.tokens(position), rest = tokens % length_;
    segments.push_back({.position = position, .first = tokens - rest, .count = rest});
  }
}

CutBlocks::CutBlocks(const TokenDocuments& documents, std::uint64_t length, bool pad_last, std::uint64_t mark,
                     const std::function<void()>& tick)
    : length_(length),
      tokens_(documents.tokens()),
      blocks_(tokens_ / length + (pad_last && tokens_ % length != 0 ? 1 : 0)),
      ends_(shared_numbers("tokens-cut-" + hexadecimal(mark), documents.size(), tokens_, [&](SharedNumbers& ends) {
        std::uint64_t end = 0;
        for (std::uint64_t position = 0; position < documents.size(); ++position) {
          if (tick && position % kCutTick == 0) tick();
          ends.set(position, end += documents.tokens(position));
        }
      })) {}

void CutBlocks::find(std::uint64_t block, std::vector<TokenSegment>& segments) const {
  segments.clear();
  const SharedNumbers& ends = *ends_;
  std::uint64_t at = block * length_;
  const std::uint64_t stop = std::min(at + length_, tokens_);
  for (std::uint64_t position = first_above(ends, at, 0, ends.size()); at < stop; ++position) {
    const std::uint64_t begin = position == 0 ? 0 : ends[position - 1], end = std::min(ends[position], stop);
    if (end == at) continue;  // a document without tokens
    segments.push_back({.position = position, .first = at - begin, .count = end - at});
    at = end;
  }
}

}  // namespace penstock
