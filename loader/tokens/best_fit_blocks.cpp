#include <algorithm>

#include <penstock/loader/tokens/best_fit.hpp>
#include <penstock/loader/tokens/best_fit_blocks.hpp>
#include <penstock/loader/tokens/table_search.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kFitTick = 65'536;

}  // namespace

BestFitBlocks::BestFitBlocks(const TokenDocuments& documents, std::uint64_t length, std::uint64_t window,
                             const std::function<void()>& tick)
    : documents_(documents),
      length_(length),
      window_(std::min(window, documents.size())),
      fulls_(documents.size(), documents.tokens() / length),
      placed_(documents.size(), documents.size()),
      begins_(documents.size() + 1, documents.size()) {
  BestFit packer(length);
  for (std::uint64_t first = 0; first < documents.size(); first += window_) {
    if (tick && (window_ >= kFitTick || first % kFitTick < window_)) tick();
    pack_window(first, std::min(first + window_, documents.size()), packer);
  }
  windows_.push_back({.block = fulls_made_ + bins_made_, .bin = bins_made_});
  begins_.set(bins_made_, placed_made_);
  rests_ = {};
  positions_ = {};
}

void BestFitBlocks::pack_window(std::uint64_t first, std::uint64_t end, BestFit& packer) {
  windows_.push_back({.block = fulls_made_ + bins_made_, .bin = bins_made_});
  rests_.clear();
  positions_.clear();
  for (std::uint64_t position = first; position < end; ++position) {
    const std::uint64_t tokens = documents_.tokens(position);
    fulls_.set(position, fulls_made_ += tokens / length_);
    if (tokens % length_ == 0) continue;
    rests_.push_back(static_cast<std::uint32_t>(tokens % length_));
    positions_.push_back(static_cast<std::uint32_t>(position - first));
  }
  packer.pack(rests_);
  for (const std::uint32_t begin : packer.begins()) begins_.set(bins_made_++, placed_made_ + begin);
  for (const std::uint32_t item : packer.items()) placed_.set(placed_made_++, first + positions_[item]);
}

void BestFitBlocks::find(std::uint64_t block, std::vector<TokenSegment>& segments) const {
  segments.clear();
  const auto next = std::ranges::upper_bound(windows_, block, {}, &Window::block);
  const auto number = static_cast<std::uint64_t>(next - windows_.begin()) - 1;
  const Window& window = windows_[number];
  const std::uint64_t first = number * window_, end = std::min(first + window_, documents_.size());
  const std::uint64_t before = first == 0 ? 0 : fulls_[first - 1];  // window.block - window.bin
  const std::uint64_t full = before + (block - window.block);
  if (full < fulls_[end - 1]) {
    const std::uint64_t position = first_above(fulls_, full, first, end);
    const std::uint64_t own = full - (position == 0 ? 0 : fulls_[position - 1]);
    segments.push_back({.position = position, .first = own * length_, .count = length_});
    return;
  }
  const std::uint64_t bin = window.bin + (full - fulls_[end - 1]);
  for (std::uint64_t place = begins_[bin]; place < begins_[bin + 1]; ++place) {
    const std::uint64_t position = placed_[place], tokens = documents_.tokens(position), rest = tokens % length_;
    segments.push_back({.position = position, .first = tokens - rest, .count = rest});
  }
}

}  // namespace penstock
