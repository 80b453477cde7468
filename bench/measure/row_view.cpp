#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <bench/measure/row_view.hpp>
#include <transforms/elements.hpp>

namespace penstock {
namespace {

constexpr std::array<std::uint8_t, 3> kNoNumber{255, 0, 255};

template <typename Number>
std::vector<Number> converted(const TensorView& row, DType dtype) {
  std::vector<Number> values(element_count(row.shape));
  convert_elements(row.data, row.dtype, reinterpret_cast<std::byte*>(values.data()), dtype, values.size());
  return values;
}

// Location of channel c of pixel (y, x) among a row's elements.
struct PixelLayout {
  std::int64_t height, width, channels, channel_stride, pixel_stride;
};

std::optional<PixelLayout> layout_of(const Shape& shape, bool channels_last) {
  if (shape.size() == 2) return PixelLayout{shape[0], shape[1], 1, 0, 1};
  if (shape.size() != 3) return std::nullopt;
  if (channels_last) return PixelLayout{shape[0], shape[1], shape[2], 1, shape[2]};
  return PixelLayout{shape[1], shape[2], shape[0], shape[1] * shape[2], 1};
}

bool pixel_sized(std::int64_t side) {
  return side >= 1 && side <= 1 << 16;
}

// Inverts image.normalize() for channel c.
double pixel_level(double value, const step::Normalize* normalize, std::size_t c) {
  return normalize == nullptr ? value : (value * normalize->stddev[c] + normalize->mean[c]) * 255.0;
}

}  // namespace

TensorView row_of(const Field& field, std::uint32_t row) {
  TensorView view = field.values;
  const std::uint64_t item = view.bytes() / std::max<std::uint64_t>(1, static_cast<std::uint64_t>(view.shape[0]));
  if (field.offsets.empty()) {
    view.data += row * item;
    view.shape.erase(view.shape.begin());
    return view;
  }
  view.data += static_cast<std::uint64_t>(field.offsets[row]) * item;
  view.shape[0] = field.offsets[row + 1] - field.offsets[row];
  if (!field.shapes.empty()) {
    const std::size_t sizes = field.shapes.size() / (field.offsets.size() - 1);
    const auto own = field.shapes.subspan(row * sizes, sizes);
    view.shape.assign(own.begin(), own.end());
  }
  return view;
}

ValueRange range_of(const TensorView& row) {
  ValueRange range{.low = std::numeric_limits<double>::infinity(), .high = -std::numeric_limits<double>::infinity()};
  std::uint64_t finite = 0;
  for (const double value : converted<double>(row, DType::f64)) {
    ++range.count;
    if (std::isnan(value)) {
      ++range.nans;
    } else if (std::isinf(value)) {
      ++range.infinities;
    } else {
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
      range.mean += (value - range.mean) / static_cast<double>(++finite);
    }
  }
  if (finite == 0) range.low = range.high = 0;
  return range;
}

std::optional<Picture> picture_of(const TensorView& row, const Chain& chain) {
  const step::Normalize* normalize = nullptr;
  bool channels_last = false;
  for (const Step& step : chain.steps) {
    if (const auto* found = step.as<step::Normalize>()) normalize = found;
    if (step.is<step::ChannelsLast>()) channels_last = true;
  }
  const auto layout = layout_of(row.shape, channels_last);
  if (!layout || !pixel_sized(layout->width) || !pixel_sized(layout->height)) return std::nullopt;
  if (layout->channels != 1 && layout->channels != 3) return std::nullopt;
  if (normalize != nullptr && normalize->mean.size() != static_cast<std::size_t>(layout->channels)) return std::nullopt;

  const std::vector<float> values = converted<float>(row, DType::f32);
  Picture picture{.width = static_cast<std::uint32_t>(layout->width),
                  .height = static_cast<std::uint32_t>(layout->height),
                  .pixels = {}};
  picture.pixels.reserve(3 * values.size() / static_cast<std::size_t>(layout->channels));
  for (std::int64_t pixel = 0; pixel < layout->width * layout->height; ++pixel) {
    std::array<std::uint8_t, 3> rgb{};
    for (std::size_t c = 0; c < 3; ++c) {
      const std::int64_t channel = layout->channels == 1 ? 0 : static_cast<std::int64_t>(c);
      const std::int64_t at = pixel * layout->pixel_stride + channel * layout->channel_stride;
      const double level =
          pixel_level(values[static_cast<std::size_t>(at)], normalize, static_cast<std::size_t>(channel));
      if (std::isnan(level)) {
        rgb = kNoNumber;
        break;
      }
      rgb[c] = static_cast<std::uint8_t>(std::lround(std::clamp(level, 0.0, 255.0)));
    }
    picture.pixels.insert(picture.pixels.end(), rgb.begin(), rgb.end());
  }
  return picture;
}

std::string terminal_text(const Picture& picture, std::uint32_t columns) {
  const std::uint32_t across = std::clamp<std::uint32_t>(picture.width, 1, columns);
  const std::uint32_t down = std::max<std::uint32_t>(2, picture.height * across / picture.width) / 2 * 2;
  const auto colour = [&](std::uint32_t column, std::uint32_t line) {
    const std::uint64_t x = std::uint64_t{column} * picture.width / across;
    const std::uint64_t y = std::min<std::uint64_t>(std::uint64_t{line} * picture.height / down, picture.height - 1);
    const std::uint8_t* rgb = picture.pixels.data() + 3 * (y * picture.width + x);
    return std::to_string(rgb[0]) + ";" + std::to_string(rgb[1]) + ";" + std::to_string(rgb[2]) + "m";
  };
  std::string text;
  for (std::uint32_t line = 0; line < down; line += 2) {
    for (std::uint32_t column = 0; column < across; ++column)
      text += "\x1b[38;2;" + colour(column, line) + "\x1b[48;2;" + colour(column, line + 1) + "\u2580";
    text += "\x1b[0m\n";
  }
  return text;
}

}  // namespace penstock
