#include <vector>

#include <base/shown_path.hpp>
#include <formats/dataset.hpp>
#include <formats/error_location.hpp>

namespace penstock {

Extent stored_extent(const Dataset& dataset, std::uint32_t number) {
  const Block block = dataset.block(number);
  return block.mosaic ? dataset.block(block.mosaic->first_block).extent : block.extent;
}

ErrorContext error_location(const Dataset& dataset, std::uint64_t sample, std::uint32_t field) {
  const std::size_t shard = dataset.shard_of(sample, field);
  ErrorContext where{.dataset = dataset.path_of_shard(shard).string(),
                     .shard = dataset.shard(shard).name,
                     .key = std::string(dataset.key(sample)),
                     .field = dataset.fields()[field].name};
  std::vector<Piece> pieces;
  if (!dataset.locate(sample, field, pieces) || pieces.empty()) return where;
  if (pieces[0].kind != Piece::Kind::extent && pieces[0].kind != Piece::Kind::block) return where;
  const Extent extent =
      pieces[0].kind == Piece::Kind::extent ? pieces[0].extent : stored_extent(dataset, pieces[0].block);
  where.shard = shown_path(dataset.file(extent.file).path, dataset.path_of_shard(shard));
  where.offset = extent.offset;
  return where;
}

}  // namespace penstock
