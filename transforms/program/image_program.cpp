#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/step_table.hpp>
#include <penstock/transforms/decoders.hpp>
#include <penstock/transforms/elements.hpp>
#include <penstock/transforms/image/codecs/channels.hpp>
#include <penstock/transforms/image/codecs/exif.hpp>
#include <penstock/transforms/image/jpeg/jpeg.hpp>
#include <penstock/transforms/image/kernels/shrink.hpp>
#include <penstock/transforms/image/passes/eraser.hpp>
#include <penstock/transforms/image/passes/pass_runner.hpp>
#include <penstock/transforms/image/steps/pixel_step.hpp>
#include <penstock/transforms/image/steps/pixel_steps.hpp>
#include <penstock/transforms/program/compile.hpp>

namespace penstock {
namespace {

struct NumberedErasing {
  step::RandomErasing step;
  std::uint32_t transform;
};

struct ImagePlan {
  PixelSteps steps{};
  std::vector<NumberedErasing> erasings{};
  Size size{};            ///< of every row
  bool own_size = false;  ///< rows have sizes of their own
  std::int64_t decoded;   ///< channels that the steps begin with: 1 or 3
  std::int64_t channels;  ///< delivered: 1 or 3
  PixelSink sink{};       ///< without its memory
  bool fast = false;      ///< JPEGs may be decoded smaller
  bool deep = false;      ///< pixels have 16 bits: those of 8 are multiplied by 257
  DecodeOptions decoding{};
  std::shared_ptr<const Codec> codec{};  ///< the user's own; null: the field's
};

class ImageRunner final : public OutputRunner {
 public:
  explicit ImageRunner(const ImagePlan& plan)
      : plan_(plan), decoders_(plan.decoding, plan.codec.get()), deep_decoders_(deep_decoding(plan.decoding)) {}

  // Of a row with a size of its own. What cannot be decoded, fill() says.
  std::uint64_t items(const SlotRow& row) override {
    Peeked peeked = (plan_.deep ? deep_decoders_ : decoders_).peek(row.field);
    draw(pixels_of(peeked.layout).size, row.sample);
    const std::int64_t height = size_.height, width = size_.width, channels = plan_.channels;
    shape_ = plan_.sink.channels_last ? std::array{height, width, channels} : std::array{channels, height, width};
    return static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width) *
           static_cast<std::uint64_t>(channels);
  }

  std::span<const std::int64_t> row_shape() const override { return shape_; }

  void fill(const SlotRow& row) override {
    if (plan_.deep) return fill_deep(row);
    const Peeked peeked = decoders_.peek(row.field);
    PixelGrid pixels = pixels_of(peeked.layout);
    check_channels(pixels.channels);
    draw(pixels.size, row.sample);

    PixelSink sink = plan_.sink;
    sink.data = row.slot.data();
    const bool smaller = plan_.fast && shrink(peeked, pixels);
    const Placement& placement = smaller ? shrunk_ : placement_;
    const Region region = placement.needed(false);
    if (decodes_into_slot(peeked, pixels.channels)) {
      decode(peeked, row.field, pixels, region, row.slot.data());
      row.watch.lap(row.watch.times.decode);
    } else {
      const PixelSource source = load(peeked, row.field, pixels, region);
      row.watch.lap(row.watch.times.decode);
      passes_.run(source, placement, PixelKind::colors, sink);
    }
    for (const NumberedErasing& erasing : plan_.erasings) erase(erasing, row.sample, sink);
    row.watch.lap(row.watch.times.transform);
  }

  // Pixels are only moved here, as masks are: one channel after the other, two bytes each.
  void fill_deep(const SlotRow& row) {
    Peeked peeked = deep_decoders_.peek(row.field);
    const bool deep = peeked.layout.image && peeked.layout.dtype == DType::u16;
    if (!deep) peeked = decoders_.peek(row.field);
    const PixelGrid pixels = pixels_of(peeked.layout);
    check_channels(pixels.channels);
    draw(pixels.size, row.sample);
    Region region = placement_.needed(true);
    if (!peeked.layout.image) region = {0, 0, pixels.size.width, pixels.size.height};
    const auto count = static_cast<std::size_t>(region.width * region.height);
    const std::byte* found = row.field.bytes.data();
    if (!peeked.in_place) {
      const Shape shape{region.height, region.width, pixels.channels};
      std::byte* memory =
          scratch_.get(count * static_cast<std::size_t>(pixels.channels) * size_of(peeked.layout.dtype));
      peeked.decoder->decode(row.field, peeked.layout.image ? &region : nullptr,
                             {memory, peeked.layout.dtype, peeked.layout.image ? shape : peeked.layout.shape});
      found = memory;
    }
    row.watch.lap(row.watch.times.decode);
    PixelSink sink = plan_.sink;
    sink.data = row.slot.data();
    for (std::int64_t channel = 0; channel < plan_.channels; ++channel) {
      take_channel(found, deep, pixels.channels == 1 ? 0 : channel, pixels.channels, count);
      move_channel(region);
      give_channel(channel, sink);
    }
    for (const NumberedErasing& erasing : plan_.erasings) erase(erasing, row.sample, sink);
    row.watch.lap(row.watch.times.transform);
  }

  std::optional<Geometry> geometry(const SlotRow& row) override {
    if (plan_.deep || !row.field.ranges.empty()) return std::nullopt;
    const Peeked peeked = decoders_.peek(row.field);
    if (peeked.codec != &jpeg_codec()) return std::nullopt;
    if (plan_.decoding.upright && exif_orientation(row.field.bytes) != 1) return std::nullopt;
    draw(pixels_of(peeked.layout).size, row.sample);
    if (!placement_.plain()) return std::nullopt;
    return placement_.geometry();
  }

  const Placement* placement() const override { return &placement_; }
  void share(Parallel* parallel) override {
    decoders_.share(parallel);
    deep_decoders_.share(parallel);
    passes_.share(parallel);
  }

 private:
  static DecodeOptions deep_decoding(DecodeOptions options) {
    options.pixels = Pixels::stored;
    return options;
  }

  void take_channel(const std::byte* pixels, bool deep, std::int64_t channel, std::int64_t channels,
                    std::size_t count) {
    constexpr unsigned kWidened = 257;  // 255 becomes 65535
    taken_.resize(count);
    const auto step = static_cast<std::size_t>(channels);
    const std::byte* at = pixels + static_cast<std::size_t>(channel) * (deep ? 2 : 1);
    for (std::size_t i = 0; i < count; ++i) {
      if (deep)
        std::memcpy(&taken_[i], at + i * step * 2, 2);
      else
        taken_[i] = static_cast<std::uint16_t>(std::to_integer<unsigned>(at[i * step]) * kWidened);
    }
  }

  void move_channel(const Region& region) {
    moved_.resize(static_cast<std::size_t>(size_.width * size_.height));
    passes_.run({reinterpret_cast<const std::uint8_t*>(taken_.data()), region.width * 2, 2, region}, placement_,
                PixelKind::values, {.data = reinterpret_cast<std::byte*>(moved_.data()), .channels_last = true});
  }

  void give_channel(std::int64_t channel, const PixelSink& sink) {
    const auto c = static_cast<std::size_t>(channel), channels = static_cast<std::size_t>(plan_.channels);
    const std::size_t count = moved_.size(), bytes = size_of(sink.dtype);
    std::byte* to = sink.data + (sink.channels_last ? c : c * count) * bytes;
    const std::size_t step = (sink.channels_last ? channels : 1) * bytes;
    for (std::size_t i = 0; i < count; ++i, to += step) {
      if (sink.dtype == DType::u16) {
        std::memcpy(to, &moved_[i], 2);
        continue;
      }
      const float value = static_cast<float>(moved_[i]) * sink.scale[c] + sink.bias[c];
      if (sink.dtype == DType::f32)
        std::memcpy(to, &value, sizeof value);
      else
        convert_elements(reinterpret_cast<const std::byte*>(&value), DType::f32, to, sink.dtype, 1);
    }
  }

  void draw(Size stored, const SampleContext& sample) {
    plan_.steps.draw(stored, sample, placement_);
    size_ = placement_.output();
    if (size_ != plan_.size && !plan_.own_size) throw wrong_size(size_);
  }

  void check_channels(std::int64_t channels) const {
    if (plan_.decoded != 1 || channels == 1) return;
    throw Error::shape("has " + std::to_string(channels) + " channels, but the output is gray");
  }

  // Followers go by the placement in the stored image; only the pixels come from a smaller one.
  bool shrink(const Peeked& peeked, PixelGrid& pixels) {
    const unsigned denominator = peeked.layout.image ? shrink_denominator(placement_.geometry()) : 1;
    if (denominator == 1) return false;
    const std::optional<Size> size = peeked.decoder->shrink(denominator);
    if (!size) return false;
    pixels.size = *size;
    shrunk_ = placement_;
    shrunk_.shrink(*size, denominator);
    return true;
  }

  void erase(const NumberedErasing& erasing, const SampleContext& sample, const PixelSink& sink) {
    Random random(sample.seed, sample.epoch, sample.draws(), erasing.transform);
    const std::optional<Region> box = erasing.step.box(size_, random);
    if (box) eraser_.run(erasing.step, *box, sink, size_, plan_.channels, random);
  }

  Error wrong_size(Size found) const {
    return Error::shape("is " + short_text(found) + " pixels, but the output's images are " + short_text(plan_.size) +
                        ", as the first one; image.random_resized_crop(), image.center_crop() or "
                        "image.resize((height, width)) gives all of them one size, image.decode(ragged=True) lets each "
                        "have its own");
  }

  // A plain copy in the layout that the codec itself writes needs no second pass.
  bool decodes_into_slot(const Peeked& peeked, std::int64_t channels) const {
    const bool interleaved = plan_.sink.channels_last || channels == 1;
    return peeked.layout.image && plan_.sink.dtype == DType::u8 && interleaved && channels == plan_.channels &&
           channels == plan_.decoded && placement_.plain() && placement_.geometry().copies();
  }

  void decode(const Peeked& peeked, const FieldBytes& field, const PixelGrid& pixels, const Region& region,
              std::byte* out) {
    const bool all = region.width == pixels.size.width && region.height == pixels.size.height;
    const Shape shape{region.height, region.width, pixels.channels};
    if (peeked.layout.dtype == DType::u8)
      return peeked.decoder->decode(field, all ? nullptr : &region, {out, DType::u8, shape});
    taken_.resize(element_count(shape));
    peeked.decoder->decode(field, all ? nullptr : &region,
                           {reinterpret_cast<std::byte*>(taken_.data()), DType::u16, shape});
    std::ranges::transform(taken_, out, [](std::uint16_t value) { return static_cast<std::byte>(value >> 8); });
  }

  PixelSource load(const Peeked& peeked, const FieldBytes& field, const PixelGrid& pixels, Region region) {
    const std::int64_t wanted = plan_.decoded, found = pixels.channels;
    if (peeked.in_place && found == wanted) {
      return {reinterpret_cast<const std::uint8_t*>(field.bytes.data()),
              pixels.size.width * found,
              found,
              {0, 0, pixels.size.width, pixels.size.height}};
    }
    // Arrays are decoded whole: regions are for images.
    if (!peeked.layout.image) region = {0, 0, pixels.size.width, pixels.size.height};
    const std::int64_t count = region.width * region.height;
    std::byte* memory = scratch_.get(static_cast<std::uint64_t>(count * std::max(found, wanted)));
    if (peeked.layout.image) {
      decode(peeked, field, pixels, region, memory);
    } else {
      peeked.decoder->decode(field, nullptr, {memory, DType::u8, peeked.layout.shape});
    }
    auto* data = reinterpret_cast<std::uint8_t*>(memory);
    match_channels(data, static_cast<std::size_t>(count), found, wanted);
    return {data, region.width * wanted, wanted, region};
  }

  const ImagePlan& plan_;
  Decoders decoders_, deep_decoders_;
  ScratchMemory scratch_;
  std::vector<std::uint16_t> taken_, moved_;  ///< 16 bits: one channel, before and behind the geometry
  PassRunner passes_;
  Eraser eraser_;
  Placement placement_;
  Size size_{};  ///< of the row
  std::array<std::int64_t, 3> shape_{};
  Placement shrunk_;  ///< the same, in an image decoded smaller
};

class ImageProgram final : public OutputProgram {
 public:
  ImageProgram(Output output, ImagePlan plan) : OutputProgram(std::move(output)), plan_(std::move(plan)) {}
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<ImageRunner>(plan_); }
  std::optional<Size> image_size() const override { return plan_.size; }
  // Where the index tells an image's size, its crop is known before it is read. What is wrong with it, fill() says.
  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    if (field.header.empty() || plan_.decoding.upright) return false;  // the orientation is not in the index
    const Codec* codec = plan_.codec != nullptr ? plan_.codec.get() : codec_named(field.schema->codec);
    const std::size_t before = ranges.size();
    try {
      const std::optional<Layout> layout = codec == nullptr ? std::nullopt : codec->layout(field);
      if (!layout || !layout->image) return false;
      Placement placement;
      plan_.steps.draw(pixels_of(*layout).size, sample, placement);
      const unsigned denominator = plan_.fast ? shrink_denominator(placement.geometry()) : 1;
      if (denominator != 1) placement.shrink(shrunk_size(placement.source(), denominator), denominator);
      return codec->select_region(field, placement.needed(false), denominator, ranges);
    } catch (const Error& error) {
      if (!error.is_data_fault()) throw;
      ranges.resize(before);
      return false;
    }
  }
  Outcomes explain(const Layout& stored, const SampleContext& sample) const override {
    Outcomes told = plan_.steps.explain(pixels_of(stored).size, sample);
    Size size = plan_.size;
    if (plan_.own_size && !plan_.erasings.empty()) {
      Placement placement;
      plan_.steps.draw(pixels_of(stored).size, sample, placement);
      size = placement.output();
    }
    for (const NumberedErasing& erasing : plan_.erasings) {
      Random random(sample.seed, sample.epoch, sample.draws(), erasing.transform);
      const std::optional<Region> box = erasing.step.box(size, random);
      told.steps.push_back({to_string(erasing.step), box ? "erased " + short_text(*box) : "not erased"});
    }
    return told;
  }

 private:
  ImagePlan plan_;
};

// scale and bias that make pixel * scale + bias equal (pixel / 255 - mean) / deviation.
void normalize(const step::Normalize& step, std::int64_t channels, PixelSink& sink) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const double deviation = step.stddev[c], mean = step.mean[c];
    sink.scale[c] = static_cast<float>(1.0 / (255.0 * deviation));
    sink.bias[c] = static_cast<float>(-mean / deviation);
  }
  sink.dtype = DType::f32;
}

// The order that steps must keep: decoding, pixels, numbers, layout and erasing.
int rank_of(const Step& step) {
  if (step.is<step::Decode>() || step.is<step::OwnDecode>()) return 0;
  if (step.table().pixels() != nullptr) return 1;
  if (step.is<step::Normalize>()) return 2;
  if (step.is<step::Cast>()) return 3;
  return 4;
}

// Layout and erasing may stand before numbers too, but for what normalize() would change.
bool may_follow(const Step& before, const Step& now) {
  const int first = rank_of(before), second = rank_of(now);
  if (first == 4 && second == 4) return now.is<step::RandomErasing>() || &before.table() != &now.table();
  if (first == 4) return second == 3 || (second == 2 && before.is<step::ChannelsLast>());
  return second == 1 ? first <= 1 : second > first;
}

// Steps that are given colors: as many as the pixels have where they stand.
void check_colors(const OutputRequest& request, std::size_t given, std::int64_t channels, const Step& step) {
  if (given > 1 && given != static_cast<std::size_t>(channels))
    throw request.misuse(to_string(step) + " is given " + std::to_string(given) + " channels, but the pixels have " +
                         std::to_string(channels));
}

void check_erasing(const OutputRequest& request, const step::RandomErasing& erasing, const ImagePlan& plan) {
  check_colors(request, erasing.value.size(), plan.channels, erasing);
  if (plan.sink.dtype != DType::u8) return;
  if (erasing.value.empty())
    throw request.misuse("image.random_erasing() with random values needs image.normalize() or image.cast() before it");
  for (const double value : erasing.value) {
    if (value < 0 || value > 255 || value != std::trunc(value))
      throw request.misuse("image.random_erasing() of uint8 pixels needs values from 0 to 255");
  }
}

// Steps that leave every pixel's number as it is.
bool moves_only(const Chain& chain) {
  return std::ranges::all_of(chain.steps, [](const Step& step) {
    const PixelStep* pixels = step.table().pixels();
    return pixels == nullptr || pixels->moves_only(step);
  });
}

ImagePlan plan_steps(const OutputRequest& request, std::int64_t decoded, std::int64_t delivered) {
  ImagePlan plan{.decoded = decoded, .channels = delivered};
  const auto& steps = request.chain.steps;
  bool normalized = false;
  std::int64_t channels = decoded;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0 && !may_follow(steps[i - 1], steps[i])) {
      const bool order = rank_of(steps[i]) < rank_of(steps[i - 1]);
      throw request.misuse(to_string(steps[i]) + (order ? " must come before " : " follows ") +
                           to_string(steps[i - 1]));
    }
    if (const PixelStep* pixels = steps[i].table().pixels()) {
      if (const Fill* fill = pixels->fill(steps[i])) check_colors(request, fill->size(), channels, steps[i]);
      plan.steps.add(steps[i], request.transform_id(i));
      channels = pixels->channels_after(steps[i], channels);
    }
    if (const auto* step = steps[i].as<step::Decode>()) {
      plan.fast = step->fast;
      plan.own_size = step->ragged;
    }
    if (const auto* step = steps[i].as<step::Normalize>()) {
      if (!plan.erasings.empty())
        throw request.misuse(to_string(steps[i]) + " must come before " + to_string(plan.erasings.front().step));
      normalize(*step, delivered, plan.sink);
      normalized = true;
    }
    if (const auto* step = steps[i].as<step::Cast>()) {
      const DType dtype = step->dtype;
      const bool known = dtype == DType::u8 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
      if (!known && dtype != DType::u16)
        throw request.misuse("images are cast to float32, float16, bfloat16, uint8 or uint16");
      if (normalized && is_integer(dtype))
        throw request.misuse("normalized values do not fit " + std::string(name(dtype)));
      if (dtype == DType::u16 && !moves_only(request.chain))
        throw request.misuse(
            "images keep 16 bits through image.center_crop(), image.random_crop() without padding and "
            "flips alone");
      plan.sink.dtype = dtype;
    }
    if (steps[i].is<step::ChannelsLast>()) plan.sink.channels_last = true;
    if (const auto* step = steps[i].as<step::RandomErasing>())
      plan.erasings.push_back({*step, request.transform_id(i)});
  }
  for (const NumberedErasing& erasing : plan.erasings) check_erasing(request, erasing.step, plan);
  return plan;
}

// Whether the 16 bits of a first value, or those that cast() asks for, are kept: not where it asks for 8, nor where
// pixels are computed.
bool keeps_16_bits(const OutputRequest& request, const DecodeOptions& decoding) {
  if (request.own_codec() != nullptr || !moves_only(request.chain)) return false;
  if (const auto* cast = find_step<step::Cast>(request.chain)) {
    if (is_integer(cast->dtype)) return cast->dtype == DType::u16;
  }
  DecodeOptions stored = decoding;
  stored.pixels = Pixels::stored;
  const FirstValue first = request.probe(stored);
  return first.layout && first.layout->image && first.layout->dtype == DType::u16;
}

// Numbers of pixels of 16 bits.
void deepen(const OutputRequest& request, ImagePlan& plan) {
  plan.deep = true;
  if (plan.sink.dtype == DType::u8) plan.sink.dtype = DType::u16;
  if (plan.sink.dtype == DType::u16 && !plan.erasings.empty())
    throw request.misuse("image.random_erasing() does not fit uint16 pixels; image.cast(\"uint8\") makes them fit");
  if (find_step<step::Normalize>(request.chain) == nullptr) return;
  for (float& scale : plan.sink.scale) scale = static_cast<float>(double{scale} * 255 / 65535);
}

// Whether rows may differ from epoch to epoch.
bool draws(const Chain& chain) {
  return std::ranges::any_of(chain.steps, [](const Step& step) { return step.table().traits().draws; });
}

/// What a chain says of the channels of its pixels.
struct Channels {
  std::size_t means = 0;  ///< of normalize()
  bool to_gray = false;   ///< by grayscale(1)
  bool to_three = false;  ///< by grayscale(3)

  explicit Channels(const Chain& chain) {
    for (const Step& step : chain.steps) {
      if (const auto* normalize = step.as<step::Normalize>()) means = normalize->mean.size();
      if (const auto* gray = step.as<step::Grayscale>()) (gray->channels == 1 ? to_gray : to_three) = true;
    }
  }
};

// One mean asks for gray levels as they are stored, unless a step makes them; everything else sees color.
DecodeOptions decoding_of(const Chain& chain, const Channels& channels) {
  DecodeOptions options;
  if (channels.means == 1 && !channels.to_gray) options.pixels = Pixels::stored;
  for (const Step& step : chain.steps) {
    if (const auto* decode = step.as<step::Decode>()) options.upright = decode->upright;
  }
  return options;
}

std::int64_t decoded_channels(const OutputRequest& request, const Channels& asked, std::int64_t found) {
  if (asked.to_three || (asked.means == 3 && !asked.to_gray)) return 3;
  if (asked.means == 1 && !asked.to_gray && found != 1)
    throw request.misuse("image.normalize() has 1 mean, but the images have " + std::to_string(found) + " channels");
  return found == 1 ? 1 : 3;
}

std::int64_t delivered_channels(const OutputRequest& request, const Channels& asked, std::int64_t decoded) {
  const std::int64_t delivered = asked.to_gray ? 1 : decoded;
  if (asked.means != 0 && static_cast<std::int64_t>(asked.means) != delivered)
    throw request.misuse("image.normalize() has " + std::to_string(asked.means) +
                         " means, but image.grayscale() leaves " + std::to_string(delivered) + " channels");
  return delivered;
}

}  // namespace

std::unique_ptr<OutputProgram> compile_image(const OutputRequest& request) {
  const Channels asked(request.chain);
  const DecodeOptions decoding = decoding_of(request.chain, asked);
  const FirstValue sample = request.probe(decoding);
  if (!sample.layout) throw request.shape("no sample has this field, so its shape cannot be found");
  std::optional<PixelGrid> found;
  try {
    found = pixels_of(*sample.layout);
  } catch (const Error& error) {
    throw request.misuse("field \"" + request.schema().name + "\" " + error.cause());
  }
  const std::int64_t decoded = decoded_channels(request, asked, found->channels);
  ImagePlan plan = plan_steps(request, decoded, delivered_channels(request, asked, decoded));
  plan.decoding = decoding;
  plan.codec = request.own_codec();
  if (keeps_16_bits(request, decoding)) deepen(request, plan);
  if (const std::optional<Size> fixed = plan.steps.fixed_size()) {
    plan.size = *fixed;
  } else {
    Placement placement;
    plan.steps.draw(found->size, {}, placement);
    plan.size = placement.output();
  }
  const Shape shape = plan.sink.channels_last ? Shape{plan.size.height, plan.size.width, plan.channels}
                                              : Shape{plan.channels, plan.size.height, plan.size.width};
  Output output = request.output(plan.sink.dtype, plan.own_size ? Shape{} : shape);
  output.ragged = plan.own_size;
  output.own_dimensions = plan.own_size ? static_cast<std::uint32_t>(shape.size()) : 0;
  output.kind = plan.sink.channels_last ? RowKind::image_channels_last : RowKind::image;
  const bool interleaved = plan.sink.channels_last || plan.channels == 1;
  output.upright = decoding.upright;
  output.partial = !decoding.upright && std::ranges::any_of(request.sources, [&](std::uint32_t source) {
    const Codec* codec = plan.codec != nullptr ? plan.codec.get() : codec_named(request.catalog->fields[source].codec);
    return codec != nullptr && codec->selects_regions();
  });
  output.verbatim = !plan.own_size && interleaved && plan.steps.empty() && plan.erasings.empty() &&
                    output.dtype == DType::u8 && request.stored_as(DType::u8, sample.layout->shape) &&
                    element_count(sample.layout->shape) == output.row_bytes();
  if (plan.codec == nullptr) {
    const bool row = output.dtype == DType::u8 && !draws(request.chain) && !plan.own_size;
    const bool others = plan.fast || plan.deep || decoding.upright;  // than the cache keeps
    output.keep = row ? Keep::row : others ? Keep::bytes : Keep::pixels;
    output.pixels = decoding.pixels;
    output.has_geometry = !plan.own_size && output.dtype == DType::u8 && plan.sink.channels_last &&
                          plan.erasings.empty() && decoded == 3 && plan.channels == 3;
  }
  return std::make_unique<ImageProgram>(std::move(output), std::move(plan));
}

}  // namespace penstock
