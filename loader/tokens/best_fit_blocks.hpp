// Packs documents into blocks with little padding, a window of documents at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <penstock/formats/views/number_table.hpp>
#include <penstock/loader/tokens/documents.hpp>
#include <penstock/loader/tokens/token_segment.hpp>

namespace penstock {

/// Of each window first the full blocks that its documents begin with, document by document, then blocks of what is
/// left of them, packed by BestFit. Finds a block by a binary search.
class BestFitBlocks final : public TokenLayout {
 public:
  BestFitBlocks(const TokenDocuments& documents, std::uint64_t length, std::uint64_t window,
                const std::function<void()>& tick);
  std::uint64_t blocks() const override { return windows_.back().block; }
  void find(std::uint64_t block, std::vector<TokenSegment>& segments) const override;

 private:
  struct Window {
    std::uint64_t block, bin;  // its first ones
  };

  void pack_window(std::uint64_t first, std::uint64_t end, class BestFit& packer);

  const TokenDocuments& documents_;
  const std::uint64_t length_, window_;
  NumberTable fulls_;   // by position: full blocks that the documents up to this one begin with
  NumberTable placed_;  // positions of documents that leave something over, packed block by packed block
  NumberTable begins_;  // by packed block: its first place in placed_; and the end
  std::uint64_t fulls_made_ = 0, placed_made_ = 0, bins_made_ = 0;
  std::vector<Window> windows_ = {};                        // and the end
  std::vector<std::uint32_t> rests_ = {}, positions_ = {};  // of the window that is packed
};

}  // namespace penstock
