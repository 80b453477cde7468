#include <algorithm>
#include <charconv>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <penstock/image.hpp>
#include <transforms/decoders.hpp>
#include <transforms/image/codecs/channels.hpp>
#include <transforms/image/codecs/image_decoder.hpp>
#include <transforms/image/kernels/resample.hpp>
#include <transforms/image/steps/pixel_steps.hpp>
#include <transforms/recode/pixel_recoder.hpp>

namespace penstock {
namespace {

constexpr std::string_view kSame = "same";
constexpr std::int64_t kMostSide = 1 << 14;

Error unknown(std::string_view text) {
  return Error::invalid_argument("decode must be a size (224 or HEIGHTxWIDTH) or same, optionally after FIELD=, not '" +
                                 std::string(text) + "'");
}

std::int64_t side(std::string_view text, std::string_view all) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) throw unknown(all);
  if (number < 1 || number > kMostSide) {
    throw Error::invalid_argument("decode: a side of " + std::to_string(number) +
                                  " pixels is not possible; expected 1 to " + std::to_string(kMostSide));
  }
  return number;
}

void read_size(std::string_view text, std::string_view all, PixelRecoding& recoding) {
  const std::size_t cross = text.find('x');
  recoding.height = side(text.substr(0, cross), all);
  recoding.width = cross == std::string_view::npos ? recoding.height : side(text.substr(cross + 1), all);
}

std::string size_text(const PixelRecoding& recoding) {
  return std::to_string(recoding.height) + "x" + std::to_string(recoding.width);
}

// Returns the smallest size with the image's aspect ratio that covers `wanted`. For a square, this is the size of
// image.resize().
Size covering(Size image, Size wanted) {
  const auto scaled = [](std::int64_t to, std::int64_t longer, std::int64_t shorter) {
    return static_cast<std::int64_t>(static_cast<double>(to) * static_cast<double>(longer) /
                                     static_cast<double>(shorter));
  };
  if (image.width * wanted.height > image.height * wanted.width) {
    return {std::max(wanted.width, scaled(wanted.height, image.width, image.height)), wanted.height};
  }
  return {wanted.width, std::max(wanted.height, scaled(wanted.width, image.height, image.width))};
}

Geometry cut(Size image, Size wanted) {
  const Size size = covering(image, wanted);
  PixelSteps steps;
  steps.add(step::Resize{.size = size}, 0);
  steps.add(step::CenterCrop{.size = wanted}, 0);
  Placement placement;
  steps.draw(image, {}, placement);
  return placement.geometry();
}

}  // namespace

bool PixelRecoding::takes(std::string_view field) const {
  return decodes && std::ranges::find(fields, field) != fields.end();
}

PixelRecoding pixel_recoding(std::string_view text) {
  if (text.empty()) return {};
  PixelRecoding recoding{.decodes = true};
  std::string_view size = text;
  if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    size = text.substr(equals + 1);
    for (std::string_view names = text.substr(0, equals);;) {
      const std::size_t comma = names.find(',');
      if (comma == 0 || names.empty()) throw unknown(text);
      recoding.fields.emplace_back(names.substr(0, comma));
      if (comma == std::string_view::npos) break;
      names.remove_prefix(comma + 1);
    }
  }
  if (size.starts_with(kSame)) {
    size.remove_prefix(kSame.size());
    if (!size.empty() && size.front() != ':') throw unknown(text);
    if (!size.empty()) read_size(size.substr(1), text, recoding);
  } else {
    recoding.fits = true;
    read_size(size, text, recoding);
  }
  if (recoding.height != 0) {
    check_image_size(static_cast<std::uint64_t>(recoding.width), static_cast<std::uint64_t>(recoding.height), 3);
  }
  return recoding;
}

std::string decode_text(const PixelRecoding& recoding) {
  if (!recoding.decodes) return {};
  std::string text = joined_text(recoding.fields, ",");
  if (!text.empty()) text += "=";
  if (recoding.fits) return text + size_text(recoding);
  text += kSame;
  return recoding.height == 0 ? text : text + ":" + size_text(recoding);
}

struct PixelRecoder::State {
  PixelRecoding recoding;
  Decoders decoders = Decoders(DecodeOptions{.upright = true});  // raw pixels have no EXIF block
  Resampler resampler = {};
  ScratchMemory decoded = {}, made = {};
};

PixelRecoder::PixelRecoder(const PixelRecoding& recoding) : state_(std::make_unique<State>(State{recoding})) {}
PixelRecoder::~PixelRecoder() = default;
PixelRecoder::PixelRecoder(PixelRecoder&&) noexcept = default;

std::span<const std::byte> PixelRecoder::recode(const FieldSchema& field, std::span<const std::byte> value) {
  const PixelRecoding& recoding = state_->recoding;
  const FieldBytes bytes{&field, value};
  const Peeked peeked = state_->decoders.peek(bytes);
  const PixelGrid found = pixels_of(peeked.layout);
  const Size wanted{recoding.width, recoding.height};
  if (!recoding.fits && found.size != wanted) {
    throw Error::shape("the image is " + std::to_string(found.size.width) + " x " + std::to_string(found.size.height) +
                       " pixels, not " + std::to_string(wanted.width) + " x " + std::to_string(wanted.height) +
                       " like the others; pass a size to decode to resize and crop images");
  }
  const Geometry geometry = cut(found.size, wanted);
  const Region whole{0, 0, found.size.width, found.size.height};
  const Region region = peeked.layout.image ? geometry.needed(support(Interpolation::bilinear)) : whole;
  const auto count = static_cast<std::uint64_t>(region.width * region.height);
  std::byte* pixels =
      state_->decoded.get(count * static_cast<std::uint64_t>(std::max<std::int64_t>(found.channels, 3)));
  const Shape shape = peeked.layout.image ? Shape{region.height, region.width, found.channels} : peeked.layout.shape;
  peeked.decoder->decode(bytes, region == whole ? nullptr : &region, {pixels, DType::u8, shape});
  auto* data = reinterpret_cast<std::uint8_t*>(pixels);
  match_channels(data, static_cast<std::size_t>(count), found.channels, 3);

  const auto made_bytes = static_cast<std::uint64_t>(wanted.width * wanted.height * 3);
  std::byte* made = state_->made.get(made_bytes);
  state_->resampler.run({data, region.width * 3, 3, region}, geometry, Interpolation::bilinear,
                        {.data = made, .channels_last = true});
  return {made, static_cast<std::size_t>(made_bytes)};
}

}  // namespace penstock
