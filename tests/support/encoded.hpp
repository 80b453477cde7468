// Makes values in the encodings that datasets hold, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/schema.hpp>

namespace penstock::test {

using Bytes = std::vector<std::byte>;

struct Picture {
  std::int64_t width, height, channels;
  std::vector<std::uint8_t> pixels;  // interleaved
  std::uint8_t at(std::int64_t x, std::int64_t y, std::int64_t c) const {
    return pixels[static_cast<std::size_t>((y * width + x) * channels + c)];
  }
};

inline Bytes to_bytes(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

template <typename T>
Bytes to_bytes(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// Smooth in both directions with some noise, so that resampling errors and misplaced pixels both show.
Picture picture(std::int64_t width, std::int64_t height, std::int64_t channels, std::uint32_t seed);

/// PNG, 8 bits, gray, RGB or RGBA, deflated without compression.
Bytes png(const Picture& picture);
/// Baseline JPEG, gray or RGB with 4:2:0 chroma.
Bytes jpeg(const Picture& picture, int quality = 90);
/// .npy version 1.0 in C order; `type` as NumPy spells it: "<f4", "|u1".
Bytes npy(std::string_view type, const Shape& shape, const Bytes& elements);

}  // namespace penstock::test
