#include <algorithm>
#include <optional>
#include <string>

#include <base/numbers/load.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/laz/arithmetic_decoder.hpp>
#include <transforms/clouds/laz/format.hpp>

namespace penstock {
namespace {

constexpr std::size_t kFixedPart = 34, kItemPart = 6;
constexpr std::uint64_t kMostPointsPerByte = 2048;
constexpr std::uint32_t kVariable = 0xFFFFFFFF;

struct ItemRule {
  LazItem::Kind kind;
  std::uint16_t bytes;  // 0: any number
  bool layered;
};

// in the order of items in a record
constexpr std::array kRules{
    ItemRule{LazItem::Kind::point10, 20, false},      ItemRule{LazItem::Kind::gps_time11, 8, false},
    ItemRule{LazItem::Kind::rgb12, 6, false},         ItemRule{LazItem::Kind::wave_packet13, 29, false},
    ItemRule{LazItem::Kind::byte, 0, false},          ItemRule{LazItem::Kind::point14, 30, true},
    ItemRule{LazItem::Kind::rgb14, 6, true},          ItemRule{LazItem::Kind::rgb_nir14, 8, true},
    ItemRule{LazItem::Kind::wave_packet14, 29, true}, ItemRule{LazItem::Kind::byte14, 0, true}};

bool reads_version(const LazItem& item, bool layered) {
  return layered ? item.version == 3 || item.version == 4 : item.version == 1 || item.version == 2;
}

// `after` is the number of rules up to the last item's, so that items out of the order of kRules are rejected.
void check_item(const LazItem& item, bool layered, std::size_t& after) {
  const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const ItemRule& r) { return r.kind == item.kind; });
  const std::string text = "laz: item type " + std::to_string(static_cast<unsigned>(item.kind)) + ", version " +
                           std::to_string(item.version) + ", of " + std::to_string(item.bytes) + " bytes";
  if (rule == kRules.end() || rule->layered != layered || !reads_version(item, layered)) throw Error::unsupported(text);
  const auto number = static_cast<std::size_t>(rule - kRules.begin()) + 1;
  if (item.bytes == 0 || (rule->bytes != 0 && rule->bytes != item.bytes) || number <= after) throw Error::corrupt(text);
  after = number;
}

// Decodes the table's entries: the chunk's points, if chunks differ in that, and its bytes. Each number is predicted by
// the one of the previous chunk.
std::vector<LazChunk> read_entries(std::span<const std::byte> table, const LazFormat& format, std::uint64_t points,
                                   std::uint64_t begin, std::uint64_t end) {
  const auto count = load<std::uint32_t>(table, 4);
  if (load<std::uint32_t>(table, 0) != 0) throw Error::corrupt("laz: unknown version of the chunk table");
  std::vector<LazChunk> chunks;
  ArithmeticDecoder decoder;
  if (count > 0) decoder.open(table.subspan(8));
  IntegerDecoder<2> integers;
  integers.reset();
  std::int32_t chunk_points = 0, chunk_bytes = 0;
  std::uint64_t first = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (format.variable) chunk_points = integers.decode(decoder, chunk_points, 0);
    chunk_bytes = integers.decode(decoder, chunk_bytes, 1);
    const std::uint64_t left = points - first;
    const std::uint64_t held = format.variable ? static_cast<std::uint32_t>(chunk_points) : format.chunk_points;
    const std::uint64_t length = static_cast<std::uint32_t>(chunk_bytes);
    // Requiring at least one byte per chunk bounds this loop.
    if (length == 0 || length > end - begin) {
      throw Error::corrupt("laz: chunk " + std::to_string(i) + " of the table has " + std::to_string(length) +
                           " bytes");
    }
    if (std::min(held, left) > 0) chunks.push_back({first, std::min(held, left), begin, begin + length});
    first += std::min(held, left);
    begin += length;
  }
  if (first != points) {
    throw Error::corrupt("laz: the chunks contain " + std::to_string(first) + " points, but the header counts " +
                         std::to_string(points));
  }
  return chunks;
}

// Returns the table's offset, or nothing if the table was never written.
std::optional<std::uint64_t> table_begin(std::span<const std::byte> bytes, std::uint64_t data_begin) {
  auto at = load<std::int64_t>(bytes, data_begin);
  // Writers to a stream cannot seek back, so they store the offset in the file's last 8 bytes.
  if (at == -1) at = load<std::int64_t>(bytes, bytes.size() - 8);
  const auto begin = static_cast<std::uint64_t>(at);
  if (at < 0 || begin < data_begin + 8 || begin > bytes.size() || bytes.size() - begin < 8) return std::nullopt;
  return begin;
}

}  // namespace

LazFormat read_laz_format(const LasHeader& header) {
  const std::span<const std::byte> vlr = header.laszip;
  if (vlr.size() < kFixedPart) throw Error::corrupt("laz: the VLR that describes the compression is missing");
  const auto compressor = load<std::uint16_t>(vlr, 0), coder = load<std::uint16_t>(vlr, 2);
  const auto items = load<std::uint16_t>(vlr, 32);
  if (compressor < 1 || compressor > 3) throw Error::unsupported("laz: compressor " + std::to_string(compressor));
  if (coder != 0) throw Error::unsupported("laz: coder " + std::to_string(coder));
  if (vlr.size() < kFixedPart + kItemPart * items) throw Error::corrupt("laz: the VLR ends before its last item");
  LazFormat format{
      .chunked = compressor != 1, .layered = compressor == 3, .chunk_points = load<std::uint32_t>(vlr, 12)};
  // LASlib (for example in COPC files) writes 0 for chunks of different sizes, and LASzip reads 0 like that.
  if (format.chunked && format.chunk_points == 0) format.chunk_points = kVariable;
  format.variable = format.chunked && format.chunk_points == kVariable;
  std::uint32_t at = 0;
  std::size_t after = 0;
  for (std::size_t i = 0; i < items; ++i) {
    const std::size_t here = kFixedPart + kItemPart * i;
    const LazItem item{.kind = static_cast<LazItem::Kind>(load<std::uint16_t>(vlr, here)),
                       .bytes = load<std::uint16_t>(vlr, here + 2),
                       .version = load<std::uint16_t>(vlr, here + 4),
                       .at = at};
    check_item(item, format.layered, after);
    format.items.push_back(item);
    at += item.bytes;
    // Wave packets have only one version, which lazrs writes as 2.
    if (item.version != format.items[0].version && !format.layered && item.kind != LazItem::Kind::wave_packet13) {
      throw Error::unsupported("laz: items of different versions");
    }
  }
  const auto first = format.layered ? LazItem::Kind::point14 : LazItem::Kind::point10;
  if (at != header.record_bytes || format.items.empty() || format.items[0].kind != first ||
      format.layered != (header.format >= 6)) {
    throw Error::corrupt("laz: items of " + std::to_string(at) + " bytes do not match records of format " +
                         std::to_string(header.format) + " and " + std::to_string(header.record_bytes) + " bytes");
  }
  return format;
}

std::vector<LazChunk> read_laz_chunks(const LasHeader& header, const LazFormat& format,
                                      std::span<const std::byte> bytes) {
  if (header.points == 0) return {};
  const std::uint64_t begin = header.data_begin + (format.chunked ? 8 : 0);
  if (begin > bytes.size()) throw Error::corrupt("laz: ends before the first point");
  const std::uint64_t held = format.chunked ? std::uint64_t{format.chunk_points} : header.points;
  const LazChunk alone{0, std::min(held, header.points), begin, bytes.size()};
  if (!format.chunked) return {alone};
  try {
    const auto table = table_begin(bytes, header.data_begin);
    if (!table) throw Error::corrupt("laz: the chunk table is missing");
    return read_entries(bytes.subspan(*table), format, header.points, begin, *table);
  } catch (const Error&) {
    if (format.variable) throw;
    return {alone};
  }
}

void check_laz_points(const LasHeader& header, std::uint64_t length) {
  const std::uint64_t held = length > header.data_begin ? length - header.data_begin : 0;
  if (header.points / kMostPointsPerByte > held || (header.points > 0 && held == 0)) {
    throw Error::corrupt("laz: the header counts " + std::to_string(header.points) + " points, which " +
                         std::to_string(held) + " bytes cannot hold");
  }
}

}  // namespace penstock
