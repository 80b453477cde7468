#include "support/picture_files.hpp"

#include "support/encoded.hpp"

namespace penstock::test {
namespace {

std::string text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string jpeg_picture(std::int64_t width, std::int64_t height, std::int64_t channels, std::uint32_t seed) {
  return text(jpeg(picture(width, height, channels, seed)));
}

std::string png_picture(std::int64_t width, std::int64_t height, std::int64_t channels, std::uint32_t seed) {
  return text(png(picture(width, height, channels, seed)));
}

}  // namespace penstock::test
