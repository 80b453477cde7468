// Cuts documents, one behind the other, every so many tokens.
#pragma once

#include <functional>
#include <memory>

#include <penstock/formats/views/shared_numbers.hpp>
#include <penstock/loader/tokens/documents.hpp>
#include <penstock/loader/tokens/token_segment.hpp>

namespace penstock {

/// Block b has tokens b * length to (b + 1) * length - 1 of all documents. Finds a block by a binary search.
class CutBlocks final : public TokenLayout {
 public:
  /// `pad_last`: the tokens that fill no block make one more. `mark` stands for all that the blocks are a function of.
  CutBlocks(const TokenDocuments& documents, std::uint64_t length, bool pad_last, std::uint64_t mark,
            const std::function<void()>& tick);
  std::uint64_t blocks() const override { return blocks_; }
  void find(std::uint64_t block, std::vector<TokenSegment>& segments) const override;

 private:
  std::uint64_t length_, tokens_, blocks_;
  std::shared_ptr<const SharedNumbers> ends_;  // by position of the document: tokens up to its end
};

}  // namespace penstock
