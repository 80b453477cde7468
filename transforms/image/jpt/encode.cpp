#include <algorithm>
#include <numbers>

#include <base/numbers/portable_math.hpp>
#include <penstock/error.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/tile.hpp>

namespace penstock::jpt {
namespace {

/// Returns the kind of symbols of a context. Only contexts of the same kind may share a table.
std::size_t family(std::size_t context) {
  switch (context % kSymbolKinds) {
    case kDcHigh:
      return 0;
    case kDcLow:
      return 1;
    case kRows:
      return 2;
    case kFirst:
    case kRest:
      return 3;
    default:
      return 4;
  }
}

/// Contexts that share a table.
struct Group {
  Counts counts{};
  std::vector<std::size_t> contexts;
  double bits = 0;
};

bool has_signed_symbols(std::size_t context) {
  return family(context) == 3;
}

/// Returns the size of symbols and their table in bits.
double bits_of(const Counts& counts, bool is_signed) {
  std::uint64_t total = 0;
  double bits = 0;
  for (const std::uint32_t count : counts) {
    if (count == 0) continue;
    total += count;
    bits -= count * portable::quick_log(count);
  }
  if (total > 0) bits += static_cast<double>(total) * portable::quick_log(static_cast<double>(total));
  return bits / std::numbers::ln2 + static_cast<double>(stored_bits(table_for(counts, is_signed)));
}

Counts added(const Counts& a, const Counts& b) {
  Counts sum;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
  return sum;
}

/// Joins the two groups with the greatest saving. Returns false if no pair saves anything.
bool join_best(std::vector<Group>& groups) {
  double best = 0;
  std::size_t into = 0, from = 0;
  Group joined;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = i + 1; j < groups.size(); ++j) {
      const std::size_t context = groups[i].contexts[0];
      if (family(context) != family(groups[j].contexts[0])) continue;
      const Counts counts = added(groups[i].counts, groups[j].counts);
      const double bits = bits_of(counts, has_signed_symbols(context));
      const double saved = groups[i].bits + groups[j].bits - bits;
      if (saved <= best) continue;
      best = saved;
      into = i;
      from = j;
      joined.counts = counts;
      joined.bits = bits;
    }
  }
  if (best <= 0) return false;
  joined.contexts = groups[into].contexts;
  joined.contexts.insert(joined.contexts.end(), groups[from].contexts.begin(), groups[from].contexts.end());
  groups[into] = std::move(joined);
  groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(from));
  return true;
}

void choose_tables(const std::array<Counts, kContexts>& counts, Head& head) {
  std::vector<Group> groups;
  for (std::size_t context = 0; context < kContexts; ++context)
    groups.push_back({counts[context], {context}, bits_of(counts[context], has_signed_symbols(context))});
  while (join_best(groups)) {
  }
  head.tables.clear();
  for (const Group& group : groups) {
    for (const std::size_t context : group.contexts)
      head.table_of[context] = static_cast<std::uint8_t>(head.tables.size());
    head.tables.push_back(table_for(group.counts, has_signed_symbols(group.contexts[0])));
  }
}

const std::int16_t* block_at(const void* image, std::size_t c, std::size_t x, std::size_t y) {
  return static_cast<const Coefficients*>(image)->block(c, x, y);
}

}  // namespace

void encode(const Frame& frame, const Coefficients& coefficients, std::vector<std::byte>& out) {
  Head head;
  head.frame = frame;
  std::vector<TileSymbols> tiles(frame.tiles());
  std::array<Counts, kContexts> counts{};
  for (std::size_t tile = 0; tile < tiles.size(); ++tile) {
    collect(frame, tile, &coefficients, block_at, tiles[tile]);
    for (std::size_t i = 0; i < kContexts; ++i)
      for (const std::uint8_t symbol : tiles[tile].runs[i]) ++counts[i][symbol];
  }
  choose_tables(counts, head);
  RansEncoder encoder;
  std::vector<std::byte> coded;
  for (const TileSymbols& tile : tiles) {
    encode_tile(tile, head, encoder, coded);
    head.tile_ends.push_back(static_cast<std::uint32_t>(coded.size()));
  }
  if (coded.size() > 0xFFFFFFFFU - (std::size_t{64} << 20))
    throw Error::unsupported("jpt: more than 4 GiB of coefficients");
  store_head(head, out);
  out.insert(out.end(), coded.begin(), coded.end());
}

}  // namespace penstock::jpt
