#include <algorithm>

#include <penstock/formats/io/hash.hpp>
#include <penstock/loader/tokens/cut_blocks.hpp>
#include <penstock/loader/tokens/table_search.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kCutTick = 65'536;

}  // namespace

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
