#include <algorithm>
#include <cstring>

#include <transforms/image/passes/frame.hpp>

namespace penstock {
namespace {

struct Span {
  std::int64_t begin, end;
};

// Returns the part of `count` pixels that [begin, begin + length) shows, or one pixel if it shows none.
Span shown(std::int64_t begin, std::int64_t length, std::int64_t count, PaddingMode mode) {
  const std::int64_t end = begin + length;
  const bool mirrors = mode == PaddingMode::reflect || mode == PaddingMode::symmetric;
  if (mirrors && (begin < 0 || end > count)) {
    Span span{count, 0};
    for (std::int64_t place = begin; place < end; ++place) {
      const std::int64_t pixel = continued(place, count, mode);
      span = {std::min(span.begin, pixel), std::max(span.end, pixel + 1)};
      if (span.begin == 0 && span.end == count) break;
    }
    return span;
  }
  const std::int64_t first = std::clamp<std::int64_t>(begin, 0, count - 1);
  return {first, std::clamp<std::int64_t>(end, first + 1, count)};
}

}  // namespace

std::int64_t continued(std::int64_t place, std::int64_t count, PaddingMode mode) {
  if (place >= 0 && place < count) return place;
  switch (mode) {
    case PaddingMode::constant:
      return -1;
    case PaddingMode::edge:
      return place < 0 ? 0 : count - 1;
    case PaddingMode::reflect: {
      if (count == 1) return 0;
      const std::int64_t period = 2 * (count - 1), at = ((place % period) + period) % period;
      return at < count ? at : period - at;
    }
    case PaddingMode::symmetric:
      break;
  }
  const std::int64_t period = 2 * count, at = ((place % period) + period) % period;
  return at < count ? at : period - 1 - at;
}

Region Frame::needed() const {
  const Span x = shown(window.x, window.width, inner.width, mode);
  const Span y = shown(window.y, window.height, inner.height, mode);
  return {x.begin, y.begin, x.end - x.begin, y.end - y.begin};
}

void Frame::map_point(double& x, double& y) const {
  x -= static_cast<double>(window.x);
  y -= static_cast<double>(window.y);
}

void Frame::run(const PixelSource& source, std::uint8_t* out) const {
  const std::int64_t channels = source.channels;
  const auto pixel = static_cast<std::size_t>(channels);
  const auto row_bytes = static_cast<std::size_t>(window.width) * pixel;
  // The columns of the output that the image itself fills.
  const std::int64_t left = std::clamp<std::int64_t>(-window.x, 0, window.width);
  const std::int64_t right = std::clamp<std::int64_t>(inner.width - window.x, left, window.width);
  for (std::int64_t y = 0; y < window.height; ++y, out += row_bytes) {
    const std::int64_t from = continued(window.y + y, inner.height, mode);
    const std::uint8_t* row =
        from < 0 ? nullptr : source.data + (from - source.region.y) * source.stride - source.region.x * channels;
    const auto put = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t x = begin; x < end; ++x) {
        const std::int64_t column = row == nullptr ? -1 : continued(window.x + x, inner.width, mode);
        std::memcpy(out + static_cast<std::size_t>(x) * pixel, column < 0 ? fill.data() : row + column * channels,
                    pixel);
      }
    };
    if (row == nullptr) {
      put(0, window.width);
      continue;
    }
    put(0, left);
    std::memcpy(out + static_cast<std::size_t>(left) * pixel, row + (window.x + left) * channels,
                static_cast<std::size_t>(right - left) * pixel);
    put(right, window.width);
  }
}

}  // namespace penstock
