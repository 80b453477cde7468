#include <penstock/error.hpp>
#include <transforms/image/jpt/extents.hpp>
#include <transforms/image/jpt/picture.hpp>

namespace penstock::jpt {

std::vector<std::byte> kept_extents(std::span<const std::byte> field) {
  Head head;
  parse_head(field, head);
  std::uint32_t head_bytes = 0;
  const std::size_t fixed = parse_sizes(field, head.frame, head_bytes);
  const std::size_t ends = 4 * head.tile_ends.size();
  std::vector<std::byte> kept(field.begin(), field.begin() + static_cast<std::ptrdiff_t>(fixed));
  const auto table = field.subspan(head_bytes - ends, ends);  // the table ends the head
  kept.insert(kept.end(), table.begin(), table.end());
  return kept;
}

Extents::Extents(std::span<const std::byte> kept) {
  ends_ = kept.subspan(parse_sizes(kept, frame_, head_bytes_));
  if (ends_.size() != 4 * frame_.tiles())
    throw Error::corrupt("jpt: the table of tiles in the index has the wrong length");
}

std::uint64_t Extents::tile_end(std::size_t tile) const {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < 4; ++i) end |= std::to_integer<std::uint64_t>(ends_[4 * tile + i]) << (8 * i);
  return head_bytes_ + end;
}

void Extents::select(const Region& region, std::uint64_t gap, std::vector<ByteRange>& ranges) const {
  ranges.push_back({0, head_bytes_});
  const TileRange tiles = needed_tiles(frame_, region);
  for (std::size_t y = tiles.y; y < tiles.end_y; ++y) {
    const std::size_t row = y * frame_.tiles_across(), left = row + tiles.x;
    const ByteRange run{left == 0 ? head_bytes_ : tile_end(left - 1), tile_end(row + tiles.end_x - 1)};
    if (run.begin > run.end || run.begin < ranges.back().end) throw Error::corrupt("jpt: a tile ends before it begins");
    if (run.begin - ranges.back().end <= gap)
      ranges.back().end = run.end;
    else
      ranges.push_back(run);
  }
}

}  // namespace penstock::jpt
