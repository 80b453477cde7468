#include <string>

#include <penstock/device/passes.hpp>
#include <penstock/formats/error.hpp>

namespace penstock {
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 31;  // of an image: kernels count them in 32 bits
constexpr std::int64_t kMostRows = 65'535;                   // of a batch: a dimension of CUDA's grids
constexpr std::int32_t kMostColumns = 64;

void require(bool good, const std::string& cause) {
  if (!good) throw Error::invalid_argument(cause);
}

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace

void check(const ImagePass& pass) {
  require(pass.in != nullptr && pass.out != nullptr, "an image pass needs memory to read and to write");
  require(is_float(pass.dtype) || pass.dtype == DType::u8,
          "an image pass writes float32, float16, bfloat16 or uint8, not " + std::string(name(pass.dtype)));
  require(pass.rows > 0 && pass.rows <= kMostRows, "an image pass takes 1 to 65,535 images");
  require(pass.channels == 1 || pass.channels == 3 || pass.channels == 4, "an image pass takes 1, 3 or 4 channels");
  require(pass.width > 0 && pass.height > 0 && pass.width <= pass.in_width && pass.height <= pass.in_height,
          "an image pass writes no larger images than it reads, and none without pixels");
  require(std::int64_t{pass.in_width} * pass.in_height * pass.channels < kMostPixels,
          "an image pass takes smaller images");
}

void normalize(ImagePass& pass, const float* mean, const float* stddev) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(pass.channels); ++c) {
    const double deviation = static_cast<double>(stddev[c]);
    pass.scale[c] = static_cast<float>(1.0 / (255.0 * deviation));
    pass.bias[c] = static_cast<float>(-static_cast<double>(mean[c]) / deviation);
  }
}

void check(const PointPass& pass) {
  require(pass.in != nullptr && pass.out != nullptr, "a point pass needs memory to read and to write");
  require(is_float(pass.dtype),
          "a point pass writes float32, float16 or bfloat16, not " + std::string(name(pass.dtype)));
  require(pass.clouds > 0 && pass.clouds <= kMostRows, "a point pass takes 1 to 65,535 clouds");
  require(pass.columns >= 3 && pass.columns <= kMostColumns, "a point pass takes 3 to 64 columns");
  require(pass.points > 0 && pass.in_points > 0 && pass.in_points * pass.columns < kMostPixels &&
              pass.points * pass.columns < kMostPixels,
          "a point pass takes clouds of 1 to 2^31 / columns points");
  require(pass.numbers != nullptr || pass.points <= pass.in_points,
          "a point pass without numbers writes no more points than it reads");
  require(pass.sigma >= 0 && pass.clip >= 0, "a point pass takes sigma and clip of 0 or more");
  require(pass.sigma == 0 || pass.keys != nullptr, "a point pass draws with a key for each cloud");
}

}  // namespace penstock
