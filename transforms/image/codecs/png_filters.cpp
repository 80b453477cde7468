#include <array>
#include <cstdlib>

#include <transforms/image/codecs/png_filters.hpp>

namespace penstock {
namespace {

std::uint8_t byte(int value) {
  return static_cast<std::uint8_t>(value);
}

/// Returns the one of left, above and above left that is nearest to left + above - above left, the first of equals.
int paeth(int left, int above, int corner) {
  const int to_left = std::abs(above - corner);
  const int to_above = std::abs(left - corner);
  const int to_corner = std::abs(left + above - 2 * corner);
  const int nearest = to_above <= to_corner ? above : corner;
  const int least = to_above <= to_corner ? to_above : to_corner;
  return to_left <= least ? left : nearest;
}

/// Filters for pixels of N bytes. The left pixel is kept in registers. Each byte depends on the one N bytes before, so
/// the N dependency chains run in parallel.
template <std::size_t N>
struct Rows {
  static void sub(std::uint8_t* row, std::size_t bytes) {
    std::array<int, N> left{};
    for (std::size_t i = 0; i + N <= bytes; i += N) {
      for (std::size_t c = 0; c < N; ++c) row[i + c] = byte(left[c] = byte(row[i + c] + left[c]));
    }
  }
  static void average(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
    std::array<int, N> left{};
    for (std::size_t i = 0; i + N <= bytes; i += N) {
      for (std::size_t c = 0; c < N; ++c) {
        row[i + c] = byte(left[c] = byte(row[i + c] + ((left[c] + above[i + c]) >> 1)));
      }
    }
  }
  static void paeths(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
    std::array<int, N> left{}, corner{};
    for (std::size_t i = 0; i + N <= bytes; i += N) {
      for (std::size_t c = 0; c < N; ++c) {
        const int up = above[i + c];
        row[i + c] = byte(left[c] = byte(row[i + c] + paeth(left[c], up, corner[c])));
        corner[c] = up;
      }
    }
  }
  static bool undo(std::uint8_t type, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
    switch (type) {
      case 0:
        return true;
      case 1:
        sub(row, bytes);
        return true;
      case 2:
        for (std::size_t i = 0; i < bytes; ++i) row[i] = byte(row[i] + above[i]);
        return true;
      case 3:
        average(row, above, bytes);
        return true;
      case 4:
        paeths(row, above, bytes);
        return true;
      default:
        return false;
    }
  }
};

}  // namespace

bool undo_png_filter(std::uint8_t type, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes,
                     std::size_t pixel_bytes) {
  switch (pixel_bytes) {
    case 1:
      return Rows<1>::undo(type, row, above, bytes);
    case 2:
      return Rows<2>::undo(type, row, above, bytes);
    case 3:
      return Rows<3>::undo(type, row, above, bytes);
    case 4:
      return Rows<4>::undo(type, row, above, bytes);
    case 6:
      return Rows<6>::undo(type, row, above, bytes);
    case 8:
      return Rows<8>::undo(type, row, above, bytes);
    default:
      return false;
  }
}

}  // namespace penstock
