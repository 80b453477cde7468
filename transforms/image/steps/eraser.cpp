#include <algorithm>
#include <cstring>

#include <transforms/elements.hpp>
#include <transforms/image/steps/eraser.hpp>
#include <transforms/normal_draws.hpp>

namespace penstock {
namespace {

void draw_normal_values(Random& random, std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const auto [first, second] = draw_normals(random);
    values[i] = static_cast<float>(first);
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(second);
  }
}

}  // namespace

void Eraser::run(const step::RandomErasing& erasing, const Region& box, const PixelSink& sink, Size size,
                 std::int64_t channels, Random& random) {
  const auto planes = static_cast<std::size_t>(channels), width = static_cast<std::size_t>(box.width),
             height = static_cast<std::size_t>(box.height);
  values_.resize(planes * height * width);
  if (erasing.value.empty()) {
    draw_normal_values(random, values_);
  } else {
    for (std::size_t c = 0; c < planes; ++c) {
      const double value = erasing.value[std::min(c, erasing.value.size() - 1)];
      std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(c * height * width), height * width,
                  static_cast<float>(value));
    }
  }
  const std::size_t bytes = size_of(sink.dtype);
  elements_.resize(values_.size() * bytes);
  convert_elements(reinterpret_cast<const std::byte*>(values_.data()), DType::f32, elements_.data(), sink.dtype,
                   values_.size());
  const std::byte* from = elements_.data();
  for (std::size_t c = 0; c < planes; ++c) {
    for (std::size_t y = 0; y < height; ++y, from += width * bytes) {
      const std::size_t row = static_cast<std::size_t>(box.y) + y;
      const std::size_t row_pixels = static_cast<std::size_t>(size.width), x = static_cast<std::size_t>(box.x);
      if (!sink.channels_last) {
        const std::size_t plane = c * static_cast<std::size_t>(size.height);
        std::memcpy(sink.data + ((plane + row) * row_pixels + x) * bytes, from, width * bytes);
        continue;
      }
      std::byte* to = sink.data + ((row * row_pixels + x) * planes + c) * bytes;
      for (std::size_t i = 0; i < width; ++i) std::memcpy(to + i * planes * bytes, from + i * bytes, bytes);
    }
  }
}

}  // namespace penstock
