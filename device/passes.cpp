#include <string>

#include <device/pass_math.hpp>
#include <device/passes.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 31;  // of an image: kernels count them in 32 bits
constexpr std::int64_t kMostRows = 65'535;                   // of a batch: limit of a dimension of CUDA's grids
constexpr std::int32_t kMostColumns = 1024;

void require(bool good, const std::string& cause) {
  if (!good) throw Error::invalid_argument(cause);
}

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

bool draws(PointMove::Kind kind) {
  return kind != PointMove::Kind::center && kind != PointMove::Kind::unit_sphere && kind != PointMove::Kind::scale;
}

}  // namespace

void check(const ImagePass& pass) {
  require(pass.in != nullptr && pass.out != nullptr, "an image pass needs memory to read and to write");
  require(is_float(pass.dtype) || pass.dtype == DType::u8,
          "an image pass writes float32, float16, bfloat16 or uint8, not " + std::string(name(pass.dtype)));
  require(pass.rows > 0 && pass.rows <= kMostRows, "an image pass must have 1 to 65,535 images");
  require(pass.channels == 1 || pass.channels == 3 || pass.channels == 4, "an image pass must have 1, 3 or 4 channels");
  require(pass.width > 0 && pass.height > 0 && pass.width <= pass.in_width && pass.height <= pass.in_height,
          "the output images of an image pass must have pixels and must not be larger than its input images");
  require(std::int64_t{pass.in_width} * pass.in_height * pass.channels < kMostPixels,
          "the input images of an image pass are too large");
}

void normalize(ImagePass& pass, const float* mean, const float* stddev) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(pass.channels); ++c) {
    const double deviation = static_cast<double>(stddev[c]);
    pass.scale[c] = static_cast<float>(1.0 / (255.0 * deviation));
    pass.bias[c] = static_cast<float>(-static_cast<double>(mean[c]) / deviation);
  }
}

void check(const PointPass& pass) {
  require(pass.in != nullptr && pass.work != nullptr && pass.out != nullptr,
          "a point pass needs memory to read, to work in and to write");
  require(is_float(pass.dtype) || pass.dtype == DType::f64,
          "a point pass writes float32, float16, bfloat16 or float64, not " + std::string(name(pass.dtype)));
  require(pass.clouds > 0 && pass.clouds <= kMostRows, "a point pass must have 1 to 65,535 clouds");
  require(pass.columns >= 3 && pass.columns <= kMostColumns, "a point pass must have 3 to 1,024 columns");
  require(pass.points > 0 && pass.in_points > 0 && pass.in_points * pass.columns < kMostPixels &&
              pass.points * pass.columns < kMostPixels,
          "a point pass must have at least 1 point and fewer than 2^31 / columns points");
  require(pass.numbers != nullptr || pass.points <= pass.in_points,
          "a point pass without numbers must not write more points than it reads");
  require(pass.numbers == nullptr || (pass.work != pass.in && pass.begins == nullptr),
          "a point pass with numbers requires working memory apart from its input, and clouds of equal length");
  require(pass.out != pass.work || (pass.dtype == DType::f32 && !pass.channels_first),
          "a point pass that uses its output as working memory must write float32, point by point");
  require(pass.begins == nullptr || !pass.channels_first,
          "a point pass must write clouds of different lengths point by point");
  require(pass.normals == 0 || (pass.normals >= 3 && pass.normals + 3 <= pass.columns),
          "the normals of a point pass must be in three columns after the coordinates");
  require(pass.moves >= 0 && pass.moves <= PointPass::kMostMoves, "a point pass must have at most 12 moves");
  for (std::int32_t m = 0; m < pass.moves; ++m) {
    require(pass.samples != nullptr || !draws(pass.move[m].kind),
            "a point pass with random moves requires a sample for each cloud");
  }
}

void check(const ResamplePass& pass) {
  require(pass.images > 0 && pass.images <= ResamplePass::kMostImages, "a resample pass must have 1 to 32 images");
  require(pass.width > 0 && pass.height > 0 && std::int64_t{pass.width} * pass.height * 3 < kMostPixels,
          "the output images of a resample pass must have pixels, and fewer than it supports");
  for (std::int32_t i = 0; i < pass.images; ++i) {
    const ResampledImage& image = pass.image[i];
    require(image.pixels != nullptr && image.out != nullptr && image.tables != nullptr,
            "a resample pass needs memory to read and to write");
    require(image.taps_x > 0 && image.taps_y > 0, "a resample pass needs a tap in each direction");
  }
}

std::uint64_t key_of_draws(std::uint64_t seed, std::uint64_t epoch) {
  return pass_math::draws_key(seed, epoch);
}

}  // namespace penstock
