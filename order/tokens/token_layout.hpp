// Decides which tokens of which documents are in a block: documents cut at a fixed length, or packed with little
// padding.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <formats/lists/shared_numbers.hpp>
#include <order/tokens/documents.hpp>

namespace penstock {

/// Consecutive tokens of one document.
struct TokenSegment {
  std::uint64_t position;  ///< of the document, in the order of documents
  std::uint64_t first;     ///< token in it
  std::uint64_t count;
  friend bool operator==(const TokenSegment&, const TokenSegment&) = default;
};

/// The segments of each block. Immutable: any number of threads may use it.
class TokenLayout {
 public:
  virtual ~TokenLayout() = default;
  virtual std::uint64_t blocks() const = 0;
  /// Replaces `segments` by those of the block. If they are shorter than the block, the rest is padding.
  virtual void find(std::uint64_t block, std::vector<TokenSegment>& segments) const = 0;
};

/// Block b has the tokens b * length to (b + 1) * length - 1 of all documents. Finds a block by binary search.
class CutBlocks final : public TokenLayout {
 public:
  /// `pad_last`: the remaining tokens make one more block. `mark` identifies everything that determines the blocks.
  CutBlocks(const TokenDocuments& documents, std::uint64_t length, bool pad_last, std::uint64_t mark,
            const std::function<void()>& tick);
  std::uint64_t blocks() const override { return blocks_; }
  void find(std::uint64_t block, std::vector<TokenSegment>& segments) const override;

 private:
  std::uint64_t length_, tokens_, blocks_;
  std::shared_ptr<const SharedNumbers> ends_;  // by position of the document: number of tokens up to its end
};

/// The blocks of each window: first the full blocks that its documents begin with, document by document, then blocks of
/// their rests, packed by BestFit. Finds a block by binary search.
class BestFitBlocks final : public TokenLayout {
 public:
  /// `mark` identifies everything that determines the blocks.
  BestFitBlocks(const TokenDocuments& documents, std::uint64_t length, std::uint64_t window, std::uint64_t mark,
                const std::function<void()>& tick);
  std::uint64_t blocks() const override { return windows_.back().block; }
  void find(std::uint64_t block, std::vector<TokenSegment>& segments) const override;

 private:
  struct Window {
    std::uint64_t block, bin;  // the first ones of the window
  };

  // The sections of the table, one after the other:
  std::uint64_t fulls(std::uint64_t position) const {  // full blocks that earlier documents begin with
    return position == 0 ? 0 : (*table_)[position - 1];
  }
  std::uint64_t placed(std::uint64_t place) const {  // positions of documents that have a rest, bin by bin
    return (*table_)[documents_.size() + place];
  }
  std::uint64_t begin(std::uint64_t bin) const {  // first place of a bin in placed(); also the end
    return (*table_)[2 * documents_.size() + bin];
  }
  std::uint64_t bins_before(std::uint64_t window) const { return (*table_)[3 * documents_.size() + 1 + window]; }
  std::uint64_t windows() const { return (documents_.size() + window_ - 1) / window_; }

  void fill(SharedNumbers& table, const std::function<void()>& tick) const;

  const TokenDocuments& documents_;
  const std::uint64_t length_, window_;
  std::shared_ptr<const SharedNumbers> table_;
  std::vector<Window> windows_ = {};  // including the end
};

}  // namespace penstock
