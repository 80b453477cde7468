// What blocks of tokens consist of: runs of tokens of documents.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace penstock
