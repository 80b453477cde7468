// Makes LAZ files of several chunks without compressing anything: a chunk is a first point and a stream that says
// little.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <transforms/clouds/laz/arithmetic_decoder.hpp>

#include "support/las_files.hpp"

namespace penstock::test {

/// Encodes what ArithmeticDecoder and IntegerDecoder read: the entries of a table of chunks.
class LazTableEncoder {
 public:
  LazTableEncoder() {
    for (auto& width : widths_) width.reset();
    for (unsigned width = 1; width <= 32; ++width) bits_[width - 1].reset(1U << std::min(width, 8U));
  }
  /// As IntegerDecoder<2>::decode() reads it.
  void encode(std::int32_t value, std::int32_t predicted, unsigned context) {
    const std::int64_t difference = std::int64_t{value} - predicted;
    unsigned width = 0;
    while (difference < -((std::int64_t{1} << width) - 1) || difference > std::int64_t{1} << width) ++width;
    symbol(widths_[context], width);
    if (width == 0) return bit(zero_, difference == 1);
    const auto place =
        static_cast<std::uint32_t>(difference > 0 ? difference - 1 : difference + (std::int64_t{1} << width) - 1);
    const unsigned rest = width > 8 ? width - 8 : 0;
    symbol(bits_[width - 1], place >> rest);
    if (rest > 0) raw(place & ((1U << rest) - 1), rest);
  }
  std::vector<std::byte> finish() {
    for (int i = 0; i < 4; ++i) put_byte();
    bytes_.resize(bytes_.size() + 4);
    return bytes_;
  }

 private:
  template <unsigned Most>
  void symbol(SymbolModel<Most>& model, unsigned symbol) {
    const std::uint32_t unit = length_ >> 15, begin = model.begin(symbol) * unit;
    const std::uint32_t end = model.is_last(symbol) ? length_ : model.begin(symbol + 1) * unit;
    narrow(begin, end - begin);
    model.count(symbol);
  }
  void bit(BitModel& model, bool set) {
    const std::uint32_t split = model.zero() * (length_ >> 13);
    narrow(set ? split : 0, set ? length_ - split : split);
    model.count(set);
  }
  void raw(std::uint32_t value, unsigned count) {
    if (count > 19) {
      raw(value & 0xFFFF, 16);
      return raw(value >> 16, count - 16);
    }
    const std::uint32_t unit = length_ >> count;
    narrow(value * unit, unit);
  }
  void narrow(std::uint32_t begin, std::uint32_t length) {
    base_ += begin;
    if (base_ >> 32 != 0) {  // a carry
      base_ &= 0xFFFFFFFF;
      for (std::size_t i = bytes_.size(); i-- > 0;) {
        bytes_[i] = static_cast<std::byte>(std::to_integer<unsigned>(bytes_[i]) + 1);
        if (bytes_[i] != std::byte{0}) break;
      }
    }
    for (length_ = length; length_ < 1U << 24; length_ <<= 8) put_byte();
  }
  void put_byte() {
    bytes_.push_back(static_cast<std::byte>(base_ >> 24 & 0xFF));
    base_ = base_ << 8 & 0xFFFFFFFF;
  }

  std::array<SymbolModel<33>, 2> widths_;
  std::array<SymbolModel<256>, 32> bits_;
  BitModel zero_;
  std::uint64_t base_ = 0;
  std::uint32_t length_ = 0xFFFFFFFF;
  std::vector<std::byte> bytes_;
};

/// A LAS 1.4 file that ends where the chunks begin. `chunk_points`: 0xFFFFFFFF where chunks vary.
inline std::vector<std::byte> laz_head(unsigned format, std::uint64_t points, std::uint32_t chunk_points) {
  const bool layered = format >= 6;
  std::vector<std::byte> bytes = las_file({.minor = 4, .format = format, .points = 0});
  std::string vlr(34 + 6, '\0');
  const auto put16 = [&](std::size_t at, unsigned value) {
    vlr[at] = static_cast<char>(value & 255), vlr[at + 1] = static_cast<char>(value >> 8);
  };
  put16(0, layered ? 3 : 2);
  std::memcpy(vlr.data() + 12, &chunk_points, 4);
  put16(32, 1);
  put16(34, layered ? 10 : 6), put16(36, layered ? 30 : 20), put16(38, layered ? 3 : 2);
  append_vlr(bytes, "laszip encoded", 22204, vlr);
  put(bytes, 96, static_cast<std::uint32_t>(bytes.size()));
  put(bytes, 100, std::uint32_t{1});
  put(bytes, 104, static_cast<std::uint8_t>(format | 0x80));
  put(bytes, 247, points);
  put(bytes, 107, layered ? std::uint32_t{0} : static_cast<std::uint32_t>(points));
  return bytes;
}

struct LazFile {
  unsigned format = 6;                   ///< 0, or 6 (layered)
  std::vector<std::uint32_t> chunks;     ///< points of each
  bool variable = false;                 ///< the table says so of each; else all but the last have equally many
  std::vector<std::size_t> broken = {};  ///< chunks whose streams end too early
  std::uint64_t more_points = 0;         ///< that the header counts beside
};

/// Each chunk has a first point of its own, and all its points have the place of that. Z takes some steps.
inline std::vector<std::byte> laz_file(const LazFile& file) {
  const bool layered = file.format >= 6;
  std::uint64_t points = file.more_points;
  for (const std::uint32_t chunk : file.chunks) points += chunk;
  std::vector<std::byte> bytes = laz_head(file.format, points, file.variable ? 0xFFFFFFFF : file.chunks.front());
  const std::size_t begin = bytes.size();
  bytes.resize(begin + 8);

  std::mt19937 random(9);
  LazTableEncoder table;
  std::int32_t last_points = 0, last_bytes = 0;
  for (std::size_t i = 0; i < file.chunks.size(); ++i) {
    const std::size_t at = bytes.size();
    const bool broken = std::ranges::find(file.broken, i) != file.broken.end();
    const std::size_t stream = broken ? 8 : 8 + 3 * file.chunks[i] + i;  // zeros: every point like the one before
    bytes.resize(at + (layered ? 30 : 20));
    for (std::size_t k = 0; k < 14; ++k) bytes[at + k] = static_cast<std::byte>(random());
    if (layered) {
      bytes.resize(bytes.size() + 4 + 36);
      put(bytes, at + 30, file.chunks[i]);
      for (std::size_t layer = 0; layer < 2; ++layer) {
        put(bytes, at + 34 + 4 * layer, static_cast<std::uint32_t>(stream));
        bytes.resize(bytes.size() + stream);
      }
    } else {
      bytes.resize(bytes.size() + stream);
    }
    const auto held = static_cast<std::int32_t>(file.chunks[i]), length = static_cast<std::int32_t>(bytes.size() - at);
    if (file.variable) table.encode(held, std::exchange(last_points, held), 0);
    table.encode(length, std::exchange(last_bytes, length), 1);
  }
  put(bytes, begin, static_cast<std::int64_t>(bytes.size()));
  const std::size_t at = bytes.size();
  bytes.resize(at + 8);
  put(bytes, at + 4, static_cast<std::uint32_t>(file.chunks.size()));
  const std::vector<std::byte> entries = table.finish();
  bytes.insert(bytes.end(), entries.begin(), entries.end());
  return bytes;
}

}  // namespace penstock::test
