#include <vector>

#include <penstock/loader/place.hpp>

namespace penstock {

ErrorContext place_of(const Dataset& dataset, std::uint64_t sample, std::uint32_t field) {
  ErrorContext place{.dataset = dataset.path().string(),
                     .shard = dataset.shard(dataset.shard_of(sample)).name,
                     .key = std::string(dataset.key(sample)),
                     .field = dataset.fields()[field].name};
  std::vector<Piece> pieces;
  if (!dataset.locate(sample, field, pieces) || pieces.empty()) return place;
  if (pieces[0].kind != Piece::Kind::extent && pieces[0].kind != Piece::Kind::block) return place;
  const Extent extent =
      pieces[0].kind == Piece::Kind::extent ? pieces[0].extent : dataset.block(pieces[0].block).extent;
  place.shard = dataset.file(extent.file).path.lexically_proximate(dataset.path()).string();
  place.offset = extent.offset;
  return place;
}

}  // namespace penstock
