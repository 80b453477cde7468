#include <bit>

#include <device/host/host_device.hpp>
#include <device/passes.hpp>
#include <device/point_team.hpp>
#include <device/resample_math.hpp>

namespace penstock {
namespace {

// Rounds to nearest even. Source: IEEE 754-2019, binary16. Values that are too large become infinite.
std::uint16_t half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);  // NaN
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {  // subnormal: in units of 2^-24, to which the sum below rounds
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign |
                                      (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F)));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + odd) >> 13));
}

// Returns the upper half of a float32, rounded to nearest even.
std::uint16_t brain(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // NaN
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

void store(void* out, std::int64_t at, DType dtype, float value) {
  if (dtype == DType::f32) {
    static_cast<float*>(out)[at] = value;
  } else if (dtype == DType::f64) {
    static_cast<double*>(out)[at] = static_cast<double>(value);
  } else if (dtype == DType::u8) {
    static_cast<std::uint8_t*>(out)[at] = static_cast<std::uint8_t>(value);
  } else {
    static_cast<std::uint16_t*>(out)[at] = dtype == DType::f16 ? half(value) : brain(value);
  }
}

float pixel(const ImagePass& pass, std::uint8_t level, std::int32_t channel) {
  if (pass.dtype == DType::u8) return level;
  const auto c = static_cast<std::size_t>(channel);
  const float product = static_cast<float>(level) * pass.scale[c];
  return product + pass.bias[c];
}

// A team of one thread.
class OneThread {
 public:
  static unsigned rank() { return 0; }
  static unsigned size() { return 1; }
  static void sync() {}
  point_team::Shared& shared() { return shared_; }
  static float largest(float value) { return value; }
  static unsigned before(bool counted, unsigned& total) {
    total = counted ? 1 : 0;
    return 0;
  }

 private:
  point_team::Shared shared_{};
};

}  // namespace

void run_on_host(const ImagePass& pass) {
  const std::int64_t channels = pass.channels, height = pass.height, width = pass.width;
  for (std::int64_t n = 0; n < pass.rows; ++n) {
    const ImageCrop crop = pass.crops != nullptr ? pass.crops[n] : ImageCrop{};
    for (std::int64_t y = 0; y < height; ++y) {
      const std::uint8_t* line = pass.in + ((n * pass.in_height + crop.y + y) * pass.in_width + crop.x) * channels;
      for (std::int64_t x = 0; x < width; ++x) {
        const std::uint8_t* from = line + (crop.flip != 0 ? width - 1 - x : x) * channels;
        for (std::int32_t c = 0; c < pass.channels; ++c) {
          const std::int64_t to = pass.channels_last ? ((n * height + y) * width + x) * channels + c
                                                     : ((n * channels + c) * height + y) * width + x;
          store(pass.out, to, pass.dtype, pixel(pass, from[c], c));
        }
      }
    }
  }
}

void run_on_host(const PointPass& pass) {
  OneThread team;
  const auto put = [dtype = pass.dtype](void* out, std::int64_t at, float value) { store(out, at, dtype, value); };
  for (std::int64_t cloud = 0; cloud < pass.clouds; ++cloud) point_team::run(team, pass, cloud, put);
}

void run_on_host(const ResamplePass& pass) {
  for (std::int32_t n = 0; n < pass.images; ++n) {
    for (std::int32_t y = 0; y < pass.height; ++y) {
      for (std::int32_t x = 0; x < pass.width; ++x) resample_math::write(pass, n, x, y);
    }
  }
}

}  // namespace penstock
