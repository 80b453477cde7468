#include <cstring>

#include <transforms/image/kernels/color_rows.hpp>
#include <transforms/image/passes/pass_runner.hpp>

namespace penstock {
namespace {

Interpolation of_kind(Interpolation interpolation, PixelKind kind) {
  return kind == PixelKind::values ? Interpolation::nearest : interpolation;
}

}  // namespace

void PassRunner::run(const PixelSource& source, const Placement& placement, PixelKind kind, const PixelSink& sink) {
  current_ = source;
  owned_ = false;
  const auto passes = placement.passes();
  for (std::size_t i = 0; i + 1 < passes.size(); ++i)
    apply(passes[i], placement.wanted_of(i, kind == PixelKind::values), kind);
  const auto& last = std::get<Geometry>(passes.back());
  resampler_.run(current_, last, of_kind(last.interpolation, kind), sink);
}

void PassRunner::apply(const Pass& pass, const Region& wanted, PixelKind kind) {
  if (const auto* geometry = std::get_if<Geometry>(&pass)) {
    const Geometry part = geometry->cropped(wanted);
    if (part.copies()) {  // same pixels, relative to the new corner
      const Region from = part.needed(0);
      current_.data +=
          (from.y - current_.region.y) * current_.stride + (from.x - current_.region.x) * current_.channels;
      current_.region = wanted;
      return;
    }
    std::uint8_t* out = other(part.output());
    resampler_.run(current_, part, of_kind(part.interpolation, kind),
                   {.data = reinterpret_cast<std::byte*>(out), .channels_last = true});
    take(out, wanted);
  } else if (const auto* frame = std::get_if<Frame>(&pass)) {
    Frame padded = *frame;
    if (kind == PixelKind::values) padded.fill = {};
    std::uint8_t* out = other(padded.output());
    padded.run(current_, out);
    take(out, {0, 0, padded.window.width, padded.window.height});
  } else if (const auto* warp = std::get_if<Warp>(&pass)) {
    Warp turned = *warp;
    if (kind == PixelKind::values) turned.fill = {};
    std::uint8_t* out = other(turned.output());
    turned.run(current_, of_kind(turned.interpolation, kind), out);
    take(out, {0, 0, turned.window.width, turned.window.height});
  } else if (kind == PixelKind::colors) {
    own();
    PixelBuffer picture{memory_[used_].data(), {current_.region.width, current_.region.height}, current_.channels};
    colors_.run(std::get<ColorOp>(pass), picture);
    current_.channels = picture.channels;
    current_.stride = picture.size.width * picture.channels;
  }
}

std::uint8_t* PassRunner::other(Size size) {
  std::vector<std::uint8_t>& memory = memory_[owned_ ? 1 - used_ : used_];
  const std::size_t bytes = static_cast<std::size_t>(size.width * size.height * current_.channels) + color_rows::kSpare;
  if (memory.size() < bytes) memory.resize(bytes);
  return memory.data();
}

void PassRunner::take(std::uint8_t* pixels, const Region& region) {
  if (owned_) used_ = 1 - used_;
  owned_ = true;
  current_ = {pixels, region.width * current_.channels, current_.channels, region};
}

void PassRunner::own() {
  const Region region = current_.region;
  if (owned_ && current_.data == memory_[used_].data() && current_.stride == region.width * current_.channels) return;
  std::uint8_t* out = other({region.width, region.height});
  const auto row_bytes = static_cast<std::size_t>(region.width * current_.channels);
  for (std::int64_t y = 0; y < region.height; ++y) {
    std::memcpy(out + static_cast<std::size_t>(y) * row_bytes, current_.data + y * current_.stride, row_bytes);
  }
  take(out, region);
}

}  // namespace penstock
