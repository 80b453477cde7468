// Makes the contents of small picture files, for tests of whole datasets.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::test {

/// The picture() of that size and seed (encoded.hpp): a baseline JPEG, gray or RGB; a PNG.
std::string jpeg_picture(std::int64_t width, std::int64_t height, std::int64_t channels, std::uint32_t seed);
std::string png_picture(std::int64_t width, std::int64_t height, std::int64_t channels, std::uint32_t seed);

}  // namespace penstock::test
