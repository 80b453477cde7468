#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <formats/encodings.hpp>
#include <penstock/error.hpp>
#include <transforms/chain/step_table.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/image/codecs/channels.hpp>
#include <transforms/image/codecs/exif.hpp>
#include <transforms/image/kernels/shrink.hpp>
#include <transforms/image/steps/eraser.hpp>
#include <transforms/image/steps/pixel_step.hpp>
#include <transforms/output.hpp>
#include <transforms/program/image_plan.hpp>

namespace penstock {
namespace {

class ImageRunner final : public OutputRunner {
 public:
  explicit ImageRunner(const ImagePlan& plan)
      : plan_(plan), decoders_(plan.decoding, plan.codec.get()), deep_decoders_(deep_decoding(plan.decoding)) {}

  // Sets the shape of a row with a separate size. fill() reports images that cannot be decoded.
  std::uint64_t items(const SlotRow& row) override {
    Peeked peeked = (plan_.deep ? deep_decoders_ : decoders_).peek(row.field);
    draw(pixels_of(peeked.layout).size, row.sample);
    const std::int64_t height = size_.height, width = size_.width, channels = plan_.channels;
    check_own_size();
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

  // 16-bit pixels are only moved, like masks: one channel after another, two bytes each.
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
    if (plan_.codec != nullptr || !codec_traits(peeked.codec->name()).jpeg_file) return std::nullopt;
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

  // Bounds the result of resizing a thin image, like check_image_size() bounds images that are read.
  void check_own_size() const {
    constexpr double kMostValues = 0x1p29;
    const double pixels = static_cast<double>(size_.width) * static_cast<double>(size_.height);
    if (pixels * static_cast<double>(plan_.channels) <= kMostValues) return;
    throw Error::unsupported("would become " + short_text(size_) + " pixels, larger than 2^29 values");
  }

  void check_channels(std::int64_t channels) const {
    if (plan_.decoded != 1 || channels == 1) return;
    throw Error::shape("has " + std::to_string(channels) + " channels, but the output is gray");
  }

  // Followers use the placement in the stored image. Only the pixels come from a smaller one.
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
                        ", like the first one; use image.random_resized_crop(), image.center_crop() or "
                        "image.resize((height, width)) for one size, or image.decode(ragged=True) to keep their sizes");
  }

  // A plain copy in the codec's layout is decoded into the slot, without a second pass.
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
    // Arrays are decoded as a whole; only images have regions.
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
  std::vector<std::uint16_t> taken_, moved_;  ///< one 16-bit channel, before and after the geometry
  PassRunner passes_;
  Eraser eraser_;
  Placement placement_;
  Size size_{};  ///< of the row
  std::array<std::int64_t, 3> shape_{};
  Placement shrunk_;  ///< the same, for an image decoded smaller
};

class ImageProgram final : public OutputProgram {
 public:
  ImageProgram(Output output, ImagePlan plan) : OutputProgram(std::move(output)), plan_(std::move(plan)) {}
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<ImageRunner>(plan_); }
  std::optional<Size> image_size() const override { return plan_.size; }
  // If the index contains an image's size, its crop is known before the image is read. fill() reports errors.
  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    if (field.header.empty() || plan_.decoding.upright) return false;  // the index does not contain the orientation
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

// Returns whether rows may differ from epoch to epoch.
bool draws(const Chain& chain) {
  return std::ranges::any_of(chain.steps, [](const Step& step) { return step.traits().draws; });
}

// White is 255 in uint8 and 65535 in uint16, so widened numbers are not valid pixels.
void require_one_white(const OutputRequest& request) {
  for (const std::uint32_t source : request.sources) {
    const FieldSchema& schema = request.catalog->fields[source];
    if (!schema.differences.widened || request.own_codec() != nullptr) continue;
    throw request.misuse("the files disagree on field \"" + schema.name + "\": " + schema.differences.text +
                         "; white is a different number in each, so store all images with one dtype");
  }
}

}  // namespace

std::unique_ptr<OutputProgram> compile_image(const OutputRequest& request) {
  require_one_white(request);
  const DecodeOptions decoding = image_decoding(request.chain);
  const FirstValue sample = request.probe(decoding);
  if (!sample.layout) throw request.shape("no sample has this field, so its shape is unknown");
  ImagePlan plan = plan_image(request, decoding, *sample.layout);
  const Shape shape = plan.sink.channels_last ? Shape{plan.size.height, plan.size.width, plan.channels}
                                              : Shape{plan.channels, plan.size.height, plan.size.width};
  Output output = request.output(plan.sink.dtype, plan.own_size ? Shape{} : shape);
  output.ragged = output.may_be_missing = plan.own_size;
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
    const bool others = plan.fast || plan.deep || decoding.upright;  // pixels differ from those that the cache keeps
    output.keep = row ? Keep::row : others ? Keep::bytes : Keep::pixels;
    output.pixels = decoding.pixels;
    output.has_geometry = !plan.own_size && output.dtype == DType::u8 && plan.sink.channels_last &&
                          plan.erasings.empty() && plan.decoded == 3 && plan.channels == 3;
  }
  return std::make_unique<ImageProgram>(std::move(output), std::move(plan));
}

}  // namespace penstock
