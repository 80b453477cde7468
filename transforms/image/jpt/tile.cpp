#include <formats/io/checks_sums.hpp>
#include <penstock/error.hpp>
#include <transforms/image/jpt/tile.hpp>

namespace penstock::jpt {
namespace {

/// Grows the memory if necessary, with room for reads and writes after the end.
template <class T>
void make_room(std::vector<T>& memory, std::size_t size) {
  constexpr std::size_t kSlack = kSymbolSlack + kRansSlack;
  if (memory.size() < size + kSlack) memory.resize(size + kSlack + size / 2);
}

Error cut() {
  return Error::corrupt("jpt: a tile ends before its last block");
}

/// The components of a class.
std::size_t first_of(std::size_t klass) {
  return klass;
}
std::size_t last_of(const Frame& frame, std::size_t klass) {
  return klass == 0 ? 1 : frame.components;
}

std::size_t kind_of_row(std::size_t row) {
  return kMask0 + std::min<std::size_t>(row, 4);
}

std::uint32_t mapped(std::int32_t difference) {
  return (static_cast<std::uint32_t>(difference) << 1 ^ static_cast<std::uint32_t>(difference >> 31)) & 0xFFFF;
}

}  // namespace

void TileTables::build(const Head& head) {
  table_of_ = head.table_of;
  if (slots_.size() < head.tables.size()) slots_.resize(head.tables.size());
  for (std::size_t i = 0; i < head.tables.size(); ++i) build_slots(head.tables[i], slots_[i]);
}

void Tile::decode_class(const TileTables& tables, std::size_t klass) {
  TileClass& c = classes_[klass];
  auto run = [&](std::size_t kind, std::size_t count, std::vector<std::uint8_t>& memory, std::size_t at = 0) {
    make_room(memory, at + count);
    if (!rans_.decode(tables.of(klass, kind), count, memory.data() + at)) throw cut();
  };
  run(kDcHigh, c.blocks, dc_symbols_[0]);
  run(kDcLow, c.blocks, dc_symbols_[1]);
  run(kRows, c.blocks, rows_);
  std::array<std::size_t, 8> counts;
  count_bits({rows_.data(), c.blocks}, counts);
  std::array<const std::uint8_t*, 8> streams;
  for (std::size_t r = 0; r < 4; ++r) run(kind_of_row(r), counts[r], row_masks_[r]);
  run(kMask4, counts[4] + counts[5] + counts[6] + counts[7], row_masks_[4]);
  for (std::size_t r = 0; r < 5; ++r) streams[r] = row_masks_[r].data();
  for (std::size_t r = 5; r < 8; ++r) streams[r] = streams[r - 1] + counts[r - 1];
  make_room(c.masks, c.blocks);
  merge_masks({rows_.data(), c.blocks}, streams, c.masks.data());
  const auto [first, rest] = count_values(c.masks.data(), c.blocks);
  run(kFirst, first, c.first);
  run(kRest, rest, c.rest);
  c.values = {first, rest};
  c.begin.first = reinterpret_cast<const std::int8_t*>(c.first.data());
  c.begin.rest = reinterpret_cast<const std::int8_t*>(c.rest.data());
}

void Tile::sum_up_dc(const Frame& frame, std::size_t number, std::size_t klass) {
  TileClass& of_class = classes_[klass];
  make_room(of_class.dc, of_class.blocks);
  const std::uint8_t *high = dc_symbols_[0].data(), *low = dc_symbols_[1].data();
  std::int16_t* dc = of_class.dc.data();
  for (std::size_t c = first_of(klass); c < last_of(frame, klass); ++c) {
    const BlockRange range = frame.tile_blocks(number, c);
    std::uint32_t above = 0;  // sums keep their low 16 bits
    for (std::size_t y = 0; y < range.height; ++y) {
      std::uint32_t sum = above;
      for (std::size_t x = 0; x < range.width; ++x) {
        const std::uint32_t symbol = static_cast<std::uint32_t>(*high++) << 8 | *low++;
        sum += symbol >> 1 ^ (0U - (symbol & 1U));
        if (x == 0) above = sum;
        *dc++ = static_cast<std::int16_t>(static_cast<std::uint16_t>(sum & 0xFFFF));
      }
    }
  }
}

void Tile::decode(const Frame& frame, const TileTables& tables, std::size_t number, std::span<const std::byte> bytes) {
  if (!rans_.begin(bytes)) throw cut();
  std::size_t escapes = 0, escapes_of[kClasses] = {};
  for (std::size_t klass = 0; klass < kClasses; ++klass) {
    TileClass& c = classes_[klass];
    c.blocks = 0;
    for (std::size_t i = first_of(klass); i < last_of(frame, klass); ++i)
      c.blocks += frame.tile_blocks(number, i).count();
    if (c.blocks == 0) continue;
    decode_class(tables, klass);
    sum_up_dc(frame, number, klass);
    escapes_of[klass] = count_escapes(c.begin.first, c.values[0]) + count_escapes(c.begin.rest, c.values[1]);
    escapes += escapes_of[klass];
  }
  for (const std::uint32_t state : rans_.states)
    if (state != kFirstState && kChecksSums) throw Error::corrupt("jpt: a tile's symbols do not end where they began");
  if (static_cast<std::size_t>(rans_.end - rans_.next) != 2 * escapes)
    throw Error::corrupt("jpt: a tile does not end with its escapes");
  const std::byte* next = rans_.next;
  for (std::size_t klass = 0; klass < kClasses; ++klass) {
    classes_[klass].escaped = escapes_of[klass] != 0;
    classes_[klass].begin.escapes = next;
    next += 2 * escapes_of[klass];
  }
}

void TileSymbols::clear() {
  for (auto& run : runs) run.clear();
  escapes.clear();
}

void collect(const Frame& frame, std::size_t tile, const void* image, BlockAt block_at, TileSymbols& symbols) {
  symbols.clear();
  std::array<std::vector<std::uint8_t>, 4> high_rows;  // masks of rows 4 to 7
  for (std::size_t klass = 0; klass < kClasses; ++klass) {
    auto* const run = symbols.runs.data() + klass * kSymbolKinds;
    for (auto& row : high_rows) row.clear();
    for (std::size_t c = first_of(klass); c < last_of(frame, klass); ++c) {
      const BlockRange range = frame.tile_blocks(tile, c);
      std::int32_t above = 0;
      for (std::size_t y = 0; y < range.height; ++y) {
        std::int32_t before = above;
        for (std::size_t x = 0; x < range.width; ++x) {
          const std::int16_t* block = block_at(image, c, range.x + x, range.y + y);
          const std::uint32_t difference = mapped(std::int16_t(std::uint16_t(block[0] - before)));
          before = block[0];
          if (x == 0) above = before;
          run[kDcHigh].push_back(static_cast<std::uint8_t>(difference >> 8));
          run[kDcLow].push_back(static_cast<std::uint8_t>(difference & 0xFF));
          std::uint8_t rows = 0;
          for (std::size_t r = 0; r < 8; ++r) {
            std::uint8_t mask = 0;
            for (std::size_t k = r == 0 ? 1 : 0; k < 8; ++k) {
              const std::int16_t value = block[kNatural[8 * r + k]];
              if (value == 0) continue;
              mask = static_cast<std::uint8_t>(mask | 1U << k);
              const bool escape = value < -127 || value > 127;
              if (escape) symbols.escapes.push_back(value);
              run[r == 0 ? kFirst : kRest].push_back(static_cast<std::uint8_t>(escape ? kEscape : value));
            }
            if (mask == 0) continue;
            rows = static_cast<std::uint8_t>(rows | 1U << r);
            (r < 4 ? run[kMask0 + r] : high_rows[r - 4]).push_back(mask);
          }
          run[kRows].push_back(rows);
        }
      }
    }
    for (const auto& row : high_rows) run[kMask4].insert(run[kMask4].end(), row.begin(), row.end());
  }
}

void encode_tile(const TileSymbols& symbols, const Head& head, RansEncoder& encoder, std::vector<std::byte>& out) {
  encoder.clear();
  for (std::size_t i = 0; i < kContexts; ++i) encoder.add(symbols.runs[i], head.tables[head.table_of[i]]);
  encoder.finish(out);
  for (const std::int16_t value : symbols.escapes) {
    const auto bits = static_cast<std::uint16_t>(value);
    out.push_back(static_cast<std::byte>(bits & 0xFF));
    out.push_back(static_cast<std::byte>(bits >> 8));
  }
}

}  // namespace penstock::jpt
