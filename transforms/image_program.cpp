#include <algorithm>

#include <penstock/formats/error.hpp>
#include <penstock/transforms/channels.hpp>
#include <penstock/transforms/compile.hpp>
#include <penstock/transforms/decoders.hpp>
#include <penstock/transforms/geometry_steps.hpp>
#include <penstock/transforms/resample.hpp>

namespace penstock {
namespace {

struct ImagePlan {
  GeometrySteps geometry{};
  Size size{};            ///< of every row
  std::int64_t channels;  ///< delivered: 1 or 3
  PixelSink sink{};       ///< without its memory
  DecodeOptions decoding{};
  std::shared_ptr<const Codec> codec{};  ///< the user's own; null: the field's
};

std::string text(Size size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

class ImageRunner final : public OutputRunner {
 public:
  explicit ImageRunner(const ImagePlan& plan) : plan_(plan), decoders_(plan.decoding, plan.codec.get()) {}

  void fill(const SlotRow& row) override {
    const Peeked peeked = decoders_.peek(row.field);
    const PixelGrid pixels = pixels_of(peeked.layout);
    check_channels(pixels.channels);
    geometry_ = plan_.geometry.draw(pixels.size, row.sample);
    if (geometry_.output() != plan_.size) throw wrong_size(geometry_.output());

    PixelSink sink = plan_.sink;
    sink.data = row.slot.data();
    const Region region = geometry_.needed(support(Filter::bilinear));
    if (decodes_into_slot(peeked, pixels.channels)) {
      decode(peeked, row.field, pixels, region, row.slot.data());
      row.watch.lap(row.watch.times.decode);
      return;
    }
    PixelSource source = load(peeked, row.field, pixels, region);
    row.watch.lap(row.watch.times.decode);
    resampler_.run(source, geometry_, Filter::bilinear, sink);
    row.watch.lap(row.watch.times.transform);
  }

  const Geometry* geometry() const override { return &geometry_; }

 private:
  void check_channels(std::int64_t channels) const {
    if (plan_.channels != 1 || channels == 1) return;
    throw Error::shape("has " + std::to_string(channels) + " channels, but the output is gray");
  }

  Error wrong_size(Size found) const {
    return Error::shape("is " + text(found) + " pixels, but the output's images are " + text(plan_.size) +
                        ", as the first one; image.random_resized_crop() or image.resize(height, width) gives all of "
                        "them one size");
  }

  // A plain copy in the layout that the codec itself writes needs no second pass.
  bool decodes_into_slot(const Peeked& peeked, std::int64_t channels) const {
    const bool interleaved = plan_.sink.channels_last || channels == 1;
    return peeked.layout.image && plan_.sink.dtype == DType::u8 && interleaved && channels == plan_.channels &&
           !geometry_.flip && !geometry_.resamples();
  }

  static void decode(const Peeked& peeked, const FieldBytes& field, const PixelGrid& pixels, const Region& region,
                     std::byte* out) {
    const bool all = region.width == pixels.size.width && region.height == pixels.size.height;
    peeked.decoder->decode(field, all ? nullptr : &region,
                           {out, DType::u8, {region.height, region.width, pixels.channels}});
  }

  PixelSource load(const Peeked& peeked, const FieldBytes& field, const PixelGrid& pixels, Region region) {
    const std::int64_t wanted = plan_.channels, found = pixels.channels;
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
  Decoders decoders_;
  ScratchMemory scratch_;
  Resampler resampler_;
  Geometry geometry_{};
};

class ImageProgram final : public OutputProgram {
 public:
  ImageProgram(Output output, ImagePlan plan) : OutputProgram(std::move(output)), plan_(std::move(plan)) {}
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<ImageRunner>(plan_); }
  std::optional<Size> image_size() const override { return plan_.size; }
  Outcomes explain(const Layout& stored, const SampleContext& sample) const override {
    return plan_.geometry.explain(pixels_of(stored).size, sample);
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

// The order that steps must keep: pixels, geometry, numbers, layout.
int rank_of(const Step& step) {
  if (std::holds_alternative<step::Decode>(step) || std::holds_alternative<step::OwnDecode>(step)) return 0;
  if (GeometrySteps::is_geometric(step)) return 1;
  if (std::holds_alternative<step::Normalize>(step)) return 2;
  if (std::holds_alternative<step::Cast>(step)) return 3;
  return 4;
}

ImagePlan plan_steps(const OutputRequest& request, std::int64_t channels) {
  ImagePlan plan{.channels = channels};
  const auto& steps = request.chain.steps;
  bool normalized = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) {
      const int before = rank_of(steps[i - 1]), now = rank_of(steps[i]);
      const bool layout_early = before == 4 && (now == 2 || now == 3);  // channels_last may stand before numbers
      if (now < before && !layout_early) {
        throw request.misuse(to_string(steps[i]) + " must come before " + to_string(steps[i - 1]));
      }
      if (now == before && now != 1) throw request.misuse(to_string(steps[i]) + " follows " + to_string(steps[i - 1]));
    }
    if (GeometrySteps::is_geometric(steps[i])) plan.geometry.add(steps[i], transform_id(request.name, i));
    if (const auto* step = std::get_if<step::Normalize>(&steps[i])) {
      normalize(*step, channels, plan.sink);
      normalized = true;
    }
    if (const auto* step = std::get_if<step::Cast>(&steps[i])) {
      const DType dtype = step->dtype;
      const bool known = dtype == DType::u8 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
      if (!known) throw request.misuse("images are cast to float32, float16, bfloat16 or uint8");
      if (normalized && dtype == DType::u8) throw request.misuse("normalized values do not fit uint8");
      plan.sink.dtype = dtype;
    }
    if (std::holds_alternative<step::ChannelsLast>(steps[i])) plan.sink.channels_last = true;
  }
  return plan;
}

// Whether rows may differ from epoch to epoch. Steps not known here may draw.
bool draws(const Chain& chain) {
  return !std::ranges::all_of(chain.steps, [](const Step& step) {
    return std::holds_alternative<step::Decode>(step) || std::holds_alternative<step::Resize>(step) ||
           std::holds_alternative<step::CenterCrop>(step) || std::holds_alternative<step::Cast>(step) ||
           std::holds_alternative<step::ChannelsLast>(step);
  });
}

// One mean asks for gray levels; everything else sees colour.
DecodeOptions decoding_of(const Chain& chain) {
  for (const Step& step : chain.steps) {
    const auto* normalize = std::get_if<step::Normalize>(&step);
    if (normalize != nullptr && normalize->mean.size() == 1) return {.pixels = Pixels::stored};
  }
  return {};
}

std::int64_t delivered_channels(const OutputRequest& request, std::int64_t found) {
  for (const Step& step : request.chain.steps) {
    const auto* normalize = std::get_if<step::Normalize>(&step);
    if (normalize == nullptr) continue;
    const auto count = static_cast<std::int64_t>(normalize->mean.size());
    if (count == 1 && found != 1)
      throw request.misuse("image.normalize() has 1 mean, but the images have " + std::to_string(found) + " channels");
    return count;
  }
  return found == 1 ? 1 : 3;
}

}  // namespace

std::unique_ptr<OutputProgram> compile_image(const OutputRequest& request) {
  const DecodeOptions decoding = decoding_of(request.chain);
  const FirstValue sample = request.probe(decoding);
  if (!sample.layout) throw request.shape("no sample has this field, so its shape cannot be found");
  std::optional<PixelGrid> found;
  try {
    found = pixels_of(*sample.layout);
  } catch (const Error& error) {
    throw request.misuse("field \"" + request.schema().name + "\" " + error.cause());
  }
  ImagePlan plan = plan_steps(request, delivered_channels(request, found->channels));
  plan.decoding = decoding;
  plan.codec = request.own_codec();
  const std::optional<Size> fixed = plan.geometry.fixed_size();
  plan.size = fixed ? *fixed : plan.geometry.draw(found->size, {}).output();
  const Shape shape = plan.sink.channels_last ? Shape{plan.size.height, plan.size.width, plan.channels}
                                              : Shape{plan.channels, plan.size.height, plan.size.width};
  Output output = request.output(plan.sink.dtype, shape);
  const bool interleaved = plan.sink.channels_last || plan.channels == 1;
  output.verbatim = interleaved && plan.geometry.empty() && output.dtype == DType::u8 &&
                    request.stored_as(DType::u8, sample.layout->shape) &&
                    element_count(sample.layout->shape) == output.row_bytes();
  if (plan.codec == nullptr) {
    output.keep = output.dtype == DType::u8 && !draws(request.chain) ? Keep::row : Keep::pixels;
    output.pixels = decoding.pixels;
  }
  return std::make_unique<ImageProgram>(std::move(output), std::move(plan));
}

}  // namespace penstock
