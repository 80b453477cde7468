// Decides which tokens of which documents are in a block: documents cut every so many tokens, or packed with little
// padding.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <formats/lists/shared_numbers.hpp>
#include <order/tokens/documents.hpp>

namespace penstock {

/// Neighbouring tokens of one document.
struct TokenSegment {
  std::uint64_t position;  ///< of the document, in the order of documents
  std::uint64_t first;     ///< token in it
  std::uint64_t count;
  friend bool operator==(const TokenSegment&, const TokenSegment&) = default;
};

/// Which segments stand in which block. Immutable: any number of threads may ask.
class TokenLayout {
 public:
  virtual ~TokenLayout() = default;
  virtual std::uint64_t blocks() const = 0;
  /// Replaces `segments` by those of the block; what they lack of its length is padding.
  virtual void find(std::uint64_t block, std::vector<TokenSegment>& segments) const = 0;
};

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

/// Of each window first the full blocks that its documents begin with, document by document, then blocks of what is
/// left of them, packed by BestFit. Finds a block by a binary search.
class BestFitBlocks final : public TokenLayout {
 public:
  /// `mark` stands for all that the blocks are a function of.
  BestFitBlocks(const TokenDocuments& documents, std::uint64_t length, std::uint64_t window, std::uint64_t mark,
                const std::function<void()>& tick);
  std::uint64_t blocks() const override { return windows_.back().block; }
  void find(std::uint64_t block, std::vector<TokenSegment>& segments) const override;

 private:
  struct Window {
    std::uint64_t block, bin;  // its first ones
  };

  // What the table has, one behind the other:
  std::uint64_t fulls(std::uint64_t position) const {  // full blocks that the documents before it begin with
    return position == 0 ? 0 : (*table_)[position - 1];
  }
  std::uint64_t placed(std::uint64_t place) const {  // positions of documents that leave something over, bin by bin
    return (*table_)[documents_.size() + place];
  }
  std::uint64_t begin(std::uint64_t bin) const {  // of a bin in placed(); and the end
    return (*table_)[2 * documents_.size() + bin];
  }
  std::uint64_t bins_before(std::uint64_t window) const { return (*table_)[3 * documents_.size() + 1 + window]; }
  std::uint64_t windows() const { return (documents_.size() + window_ - 1) / window_; }

  void fill(SharedNumbers& table, const std::function<void()>& tick) const;

  const TokenDocuments& documents_;
  const std::uint64_t length_, window_;
  std::shared_ptr<const SharedNumbers> table_;
  std::vector<Window> windows_ = {};  // and the end
};

}  // namespace penstock
