#include <cstring>

#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/image/passes/pass_runner.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>

namespace penstock {
namespace {

const DecodeOptions kStored{.pixels = Pixels::stored};

struct MaskPlan {
  DType stored;
  DType delivered;
  std::int64_t channels;  ///< 1 unless uint8
  Size size;              ///< of every row
  bool own_size = false;  ///< rows have the sizes of the images
  bool channels_last = false;
  std::shared_ptr<const Codec> codec = nullptr;  ///< the user's codec; null: the field's own
};

std::int64_t mask_channels(const Layout& layout) {
  if (layout.shape.size() == 2) return 1;
  return layout.shape.size() == 3 ? layout.shape[2] : 0;
}

class MaskRunner final : public OutputRunner {
 public:
  explicit MaskRunner(const MaskPlan& plan) : plan_(plan), decoders_(kStored, plan.codec.get()) {}

  // Sets the shape of a row with a separate size, which is its image's.
  std::uint64_t items(const SlotRow& row) override {
    const Size size = row.leader->output();
    shape_ = {size.height, size.width};
    if (plan_.channels > 1) shape_.insert(plan_.channels_last ? shape_.end() : shape_.begin(), plan_.channels);
    return element_count(shape_);
  }

  std::span<const std::int64_t> row_shape() const override { return shape_; }

  void fill(const SlotRow& row) override {
    size_ = plan_.own_size ? row.leader->output() : plan_.size;
    const Peeked peeked = decoders_.peek(row.field);
    check(peeked.layout, row.leader->source());
    const std::byte* pixels = load(peeked, row);
    row.watch.lap(row.watch.times.decode);
    const std::uint64_t count = static_cast<std::uint64_t>(size_.width * size_.height * plan_.channels);
    const bool converts = plan_.stored != plan_.delivered;
    std::byte* out = converts ? moved_.get(count * size_of(plan_.stored)) : row.slot.data();
    if (size_of(plan_.stored) == 8) {
      move_wide(pixels, *row.leader, out);
    } else {
      move(pixels, *row.leader, plan_.channels * bytes(), plan_.channels_last || plan_.channels == 1, out);
    }
    if (converts) convert_elements(out, plan_.stored, row.slot.data(), plan_.delivered, count);
    row.watch.lap(row.watch.times.transform);
  }

  void share(Parallel* parallel) override {
    decoders_.share(parallel);
    passes_.share(parallel);
  }

 private:
  std::int64_t bytes() const { return static_cast<std::int64_t>(size_of(plan_.stored)); }

  void check(const Layout& layout, Size leader) const {
    if (layout.dtype != plan_.stored || mask_channels(layout) != plan_.channels) {
      throw Error::shape("is " + array_text(layout.dtype, layout.shape) + ", but the output is " +
                         std::string(name(plan_.stored)) + " with " + std::to_string(plan_.channels) +
                         " channels, like the first one");
    }
    if (layout.shape[1] != leader.width || layout.shape[0] != leader.height) {
      throw Error::shape("is " + std::to_string(layout.shape[1]) + " x " + std::to_string(layout.shape[0]) +
                         " pixels, but the image that it follows is " + std::to_string(leader.width) + " x " +
                         std::to_string(leader.height));
    }
  }

  const std::byte* load(const Peeked& peeked, const SlotRow& row) {
    const Size size = row.leader->source();
    region_ = peeked.layout.image ? row.leader->needed(true) : Region{0, 0, size.width, size.height};
    if (peeked.in_place) return row.field.bytes.data();
    std::byte* memory = scratch_.get(static_cast<std::uint64_t>(region_.width * region_.height * plan_.channels) *
                                     size_of(plan_.stored));
    const Shape shape =
        peeked.layout.image ? Shape{region_.height, region_.width, plan_.channels} : peeked.layout.shape;
    peeked.decoder->decode(row.field, peeked.layout.image ? &region_ : nullptr, {memory, plan_.stored, shape});
    return memory;
  }

  // Nearest neighbour moves pixels without interpreting them, so a pixel of any dtype passes as channels of a few
  // bytes.
  void move(const std::byte* pixels, const Placement& placement, std::int64_t pixel_bytes, bool interleaved,
            std::byte* out) {
    const PixelSource source{reinterpret_cast<const std::uint8_t*>(pixels), region_.width * pixel_bytes, pixel_bytes,
                             region_};
    passes_.run(source, placement, PixelKind::values, {.data = out, .channels_last = interleaved});
  }

  // Elements of 8 bytes exceed the resampler's pixels, so their halves are moved separately.
  void move_wide(const std::byte* pixels, const Placement& placement, std::byte* out) {
    const auto in_count = static_cast<std::size_t>(region_.width * region_.height);
    const auto out_count = static_cast<std::size_t>(size_.width * size_.height);
    std::byte* half = halves_.get((in_count + out_count) * 4);
    std::byte* moved = half + in_count * 4;
    for (const std::size_t offset : {std::size_t{0}, std::size_t{4}}) {
      for (std::size_t i = 0; i < in_count; ++i) std::memcpy(half + i * 4, pixels + i * 8 + offset, 4);
      move(half, placement, 4, true, moved);
      for (std::size_t i = 0; i < out_count; ++i) std::memcpy(out + i * 8 + offset, moved + i * 4, 4);
    }
  }

  const MaskPlan& plan_;
  Decoders decoders_;
  ScratchMemory scratch_, moved_, halves_;
  PassRunner passes_;
  Region region_{};
  Size size_{};  ///< of the row
  Shape shape_;
};

class MaskProgram final : public OutputProgram {
 public:
  MaskProgram(Output output, const MaskPlan& plan) : OutputProgram(std::move(output)), plan_(plan) {}
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<MaskRunner>(plan_); }

 private:
  MaskPlan plan_;
};

}  // namespace

std::unique_ptr<OutputProgram> compile_mask(const OutputRequest& request) {
  const FirstValue sample = request.probe(kStored);
  if (!sample.layout) throw request.shape("no sample has this field, so its shape is unknown");
  const Layout& layout = *sample.layout;
  MaskPlan plan{.stored = layout.dtype, .delivered = layout.dtype, .channels = mask_channels(layout), .size = {}};
  plan.codec = request.own_codec();
  const bool several = plan.channels > 1;
  if (plan.channels < 1 || plan.channels > 4 || (several && layout.dtype != DType::u8)) {
    throw request.misuse("field \"" + request.schema().name + "\" is " + array_text(layout.dtype, layout.shape) +
                         ", which cannot follow an image: masks are (H, W), or uint8 (H, W, C); use boxes() or "
                         "keypoints() for lists of coordinates");
  }
  for (const Step& step : request.chain.steps) {
    if (const auto* cast = step.as<step::Cast>()) {
      plan.delivered = cast->dtype;
    } else if (step.is<step::ChannelsLast>()) {
      plan.channels_last = true;
    } else if (!step.is<step::Decode>() && !step.is<step::Elements>() && !step.is<step::OwnDecode>()) {
      throw request.misuse(to_string(step) +
                           " cannot be applied to a mask, which moves with the image that it follows");
    }
  }
  plan.size = request.leader->image_size().value();
  Shape shape{plan.size.height, plan.size.width};
  if (several) shape.insert(plan.channels_last ? shape.end() : shape.begin(), plan.channels);
  plan.own_size = request.leader->output().own_dimensions != 0;
  Output output = request.output(plan.delivered, plan.own_size ? Shape{} : shape);
  output.ragged = output.may_be_missing = plan.own_size;
  output.own_dimensions = plan.own_size ? static_cast<std::uint32_t>(shape.size()) : 0;
  if (plan.codec == nullptr && plan.stored == DType::u8) {
    output.keep = Keep::pixels;
    output.pixels = Pixels::stored;
  }
  output.kind = RowKind::follower;
  return std::make_unique<MaskProgram>(std::move(output), plan);
}

}  // namespace penstock
