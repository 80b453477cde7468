#include <algorithm>
#include <limits>
#include <string>

#include <penstock/error.hpp>
#include <transforms/image/dct/blocks.hpp>
#include <transforms/image/jpt/format.hpp>

namespace penstock::jpt {
namespace {

Error bad(const std::string& cause) {
  return Error::corrupt("jpt: " + cause);
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint32_t get(std::size_t bytes) {
    const auto part = take(bytes);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::to_integer<std::uint32_t>(part[i]) << (8 * i);
    return value;
  }
  std::span<const std::byte> take(std::size_t bytes) {
    if (bytes > bytes_.size() - next_) throw bad("ends inside its head");
    next_ += bytes;
    return bytes_.subspan(next_ - bytes, bytes);
  }
  std::span<const std::byte> rest() const { return bytes_.subspan(next_); }
  std::size_t position() const { return next_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t next_ = 0;
};

void put(std::vector<std::byte>& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
}

void set32(std::vector<std::byte>& out, std::size_t at, std::size_t value) {
  for (std::size_t i = 0; i < 4; ++i) out[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
}

struct Sizes {
  std::size_t head, coded;
};

Sizes read_sizes(Reader& reader, Frame& frame) {
  if (!std::ranges::equal(reader.take(4), kMagic)) throw bad("does not begin like a jpt field of version 1");
  frame.denominator = 1;
  const std::size_t head = reader.get(4), coded = reader.get(4);
  frame.width = reader.get(2);
  frame.height = reader.get(2);
  const std::uint32_t colour = reader.get(1);
  if (colour > static_cast<std::uint32_t>(Colour::rgb)) throw bad("unknown colour");
  frame.colour = static_cast<Colour>(colour);
  frame.components = reader.get(1);
  frame.tile_width = reader.get(1);
  frame.tile_height = reader.get(1);
  if (frame.components != (frame.colour == Colour::gray ? 1U : 3U))
    throw bad("the number of components does not match the colour");
  for (std::size_t c = 0; c < frame.components; ++c) {
    const std::uint32_t sampling = reader.get(1);
    frame.component[c] = {.horizontal = sampling >> 4, .vertical = sampling & 15, .quantisation = reader.get(1)};
  }
  frame.check();
  return {head, coded};
}

Sizes read_frame(Reader& reader, Frame& frame) {
  const Sizes sizes = read_sizes(reader, frame);
  frame.quantisation.resize(reader.get(1));
  for (auto& table : frame.quantisation) {
    const std::size_t bytes = reader.get(1);
    if (bytes != 1 && bytes != 2) throw bad("entries of a quantisation table have 1 or 2 bytes");
    for (const std::uint8_t place : kNatural) table[place] = static_cast<std::uint16_t>(reader.get(bytes));
  }
  for (std::size_t c = 0; c < frame.components; ++c)
    if (frame.component[c].quantisation >= frame.quantisation.size())
      throw bad("a component without its quantisation table");
  return sizes;
}

void read_head(std::span<const std::byte> bytes, std::uint64_t field_bytes, Head& head) {
  Reader reader(bytes);
  const Sizes sizes = read_frame(reader, head.frame);
  if (sizes.head > sizes.coded || sizes.coded > field_bytes) throw bad("is shorter than its head states");
  head.tables.resize(reader.get(1));
  for (std::uint8_t& table : head.table_of) {
    table = static_cast<std::uint8_t>(reader.get(1));
    if (table >= head.tables.size()) throw bad("a run of symbols without its frequency table");
  }
  reader.take(load_tables(reader.rest(), head.tables));
  const std::size_t tiles = head.frame.tiles();
  if (reader.rest().size() / 4 < tiles) throw bad("ends inside its table of tiles");
  head.tile_ends.resize(tiles);
  std::uint32_t last = 0;
  for (std::uint32_t& end : head.tile_ends) {
    end = reader.get(4);
    if (end < last) throw bad("a tile ends before it begins");
    last = end;
  }
  if (reader.position() != sizes.head || last != sizes.coded - sizes.head)
    throw bad("head and tiles contradict each other");
  head.head_bytes = sizes.head;
  head.coded_bytes = sizes.coded;
}

}  // namespace

std::size_t parse_sizes(std::span<const std::byte> field, Frame& frame, std::uint32_t& head_bytes) {
  Reader reader(field);
  head_bytes = static_cast<std::uint32_t>(read_sizes(reader, frame).head);
  return reader.position();
}

void parse_head(std::span<const std::byte> field, Head& head) {
  read_head(field, field.size(), head);
}

void parse_first_bytes(std::span<const std::byte> bytes, Head& head) {
  read_head(bytes, std::numeric_limits<std::uint64_t>::max(), head);
}

void store_head(Head& head, std::vector<std::byte>& out) {
  const Frame& frame = head.frame;
  out.assign(kMagic.begin(), kMagic.end());
  put(out, 0, 8);
  put(out, frame.width, 2);
  put(out, frame.height, 2);
  put(out, static_cast<std::uint8_t>(frame.colour), 1);
  put(out, frame.components, 1);
  put(out, frame.tile_width, 1);
  put(out, frame.tile_height, 1);
  for (std::size_t c = 0; c < frame.components; ++c) {
    put(out, frame.component[c].horizontal << 4 | frame.component[c].vertical, 1);
    put(out, frame.component[c].quantisation, 1);
  }
  put(out, frame.quantisation.size(), 1);
  for (const auto& table : frame.quantisation) {
    const std::size_t bytes = std::ranges::max(table) > 0xFF ? 2 : 1;
    put(out, bytes, 1);
    for (const std::uint8_t place : kNatural) put(out, table[place], bytes);
  }
  put(out, head.tables.size(), 1);
  for (const std::uint8_t table : head.table_of) put(out, table, 1);
  store_tables(head.tables, out);
  for (const std::uint32_t end : head.tile_ends) put(out, end, 4);
  head.head_bytes = out.size();
  head.coded_bytes = out.size() + (head.tile_ends.empty() ? 0 : head.tile_ends.back());
  set32(out, 4, head.head_bytes);
  set32(out, 8, head.coded_bytes);
}

}  // namespace penstock::jpt
