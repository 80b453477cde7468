#include <algorithm>
#include <cstring>

#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/off.hpp>
#include <transforms/clouds/steps/point_step.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/program/points_program.hpp>

namespace penstock {
namespace {

constexpr std::size_t kAxes = 3;

class PointsRunner final : public OutputRunner {
 public:
  explicit PointsRunner(const PointsPlan& plan)
      : plan_(plan), decoders_({.attributes = plan.attributes}, plan.codec.get()), cloud_(plan.normals) {
    for (const auto& [step, transform] : plan.steps) steps_.push_back(step.table().points()->runner(step));
    if (plan.first) first_ = plan.first->step().runner();
    seeks_finite_ = !plan.first && !plan.steps.empty() && plan.steps[0].step.is<step::DropNonfinite>();
  }

  std::uint64_t items(const SlotRow& row) override {
    make(row);
    made_ = true;
    return cloud_.rows();
  }

  void fill(const SlotRow& row) override {
    if (!made_) make(row);
    made_ = false;
    if (plan_.rows != 0 && cloud_.rows() != static_cast<std::size_t>(plan_.rows)) {
      throw Error::shape("has " + std::to_string(cloud_.rows()) + " points, but the output has rows of " +
                         std::to_string(plan_.rows) + "; use points.sample(k) for equally many points of each cloud");
    }
    write(row.slot);
    row.watch.lap(row.watch.times.transform);
  }

  const PointTrace* trace() const override { return &trace_; }
  const ItemTrace* items_trace() const override { return &items_; }
  void share(Parallel* parallel) override { decoders_.share(parallel); }

 private:
  void make(const SlotRow& row) {
    made_ = false;
    read_.clear();
    if (plan_.source == PointsPlan::Source::cloud) {
      decode_cloud(row);
    } else {
      decode_array(row);
    }
    row.watch.lap(row.watch.times.decode);
    if (!seeks_finite_) cloud_.require_finite();
    if (plan_.first && drawn_) {
      Random random = plan_.first->fill_draws(row.sample);
      plan_.first->step().fill_up(cloud_, random);
    } else if (plan_.first) {
      Random random = plan_.first->draws(row.sample);
      first_->apply(cloud_, random);
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Random random(row.sample.seed, row.sample.epoch, row.sample.draws(), plan_.steps[i].transform);
      steps_[i]->apply(cloud_, random);
    }
    trace_.numbers = cloud_.numbers();
    trace_.read = read_;
    items_.stored = items_.delivered =
        cloud_.rows() - static_cast<std::size_t>(std::ranges::count(cloud_.numbers(), PointBuffer::kPadding));
    row.watch.lap(row.watch.times.transform);
  }

  void decode_cloud(const SlotRow& row) {
    CloudDecoder& decoder = cloud_decoder(decoders_.peek(row.field));
    if (plan_.surface) {
      sample_surface_of(decoder, row);
      return;
    }
    const CloudHeader& header = decoder.header();
    trace_.points = header.points;
    draw(header, row.sample);
    const bool some = drawn_ && (read_.size() < header.points || !row.field.ranges.empty());
    if (!some) read_.clear();
    const PointChoice choice{.all = !some, .numbers = read_};
    const auto count = static_cast<std::size_t>(choice.count(header.points));
    auto* rows = reinterpret_cast<float*>(scratch_.get(count * kAxes * sizeof(double)));
    decoder.coordinates(row.field, choice, rows);
    cloud_.reset(count, plan_.columns);
    cloud_.set(rows, kAxes);
    for (std::size_t i = 0; i < plan_.attributes.size(); ++i) {
      const std::size_t number = attribute_number(header, plan_.attributes[i]);
      std::byte* stored = scratch_.get(count * kAxes * sizeof(double));
      decoder.attribute(row.field, choice, number, stored);
      convert_elements(stored, header.attributes[number].dtype, reinterpret_cast<std::byte*>(cloud_.column(kAxes + i)),
                       DType::f32, count);
    }
    if (some) std::ranges::copy(read_, cloud_.numbers().begin());
  }

  // Draws new points, uniform on the triangles of a mesh.
  void sample_surface_of(CloudDecoder& decoder, const SlotRow& row) {
    auto* mesh = dynamic_cast<OffDecoder*>(&decoder);
    if (mesh == nullptr) throw Error::shape("is not a mesh, so it has no surface");
    const auto count = static_cast<std::size_t>(*plan_.surface);
    auto* rows = reinterpret_cast<float*>(scratch_.get(count * kAxes * sizeof(float)));
    Random random(row.sample.seed, row.sample.epoch, row.sample.draws(), plan_.surface_transform);
    mesh->surface(row.field, count, random, rows);
    cloud_.reset(count, kAxes);
    cloud_.set(rows, kAxes);
    trace_.points = count;
  }

  // Sets read_ to the points that the first step takes, if this needs no coordinates.
  void draw(const CloudHeader& header, const SampleContext& sample) {
    drawn_ = plan_.first && plan_.first->draw(header, sample, read_);
  }

  void decode_array(const SlotRow& row) {
    const std::size_t columns = plan_.columns;
    const float* rows = nullptr;
    std::size_t count = 0;
    if (plan_.source == PointsPlan::Source::bare) {
      const std::size_t point_bytes = columns * sizeof(float);
      if (row.field.bytes.size() % point_bytes != 0) {
        throw Error::corrupt("has " + std::to_string(row.field.bytes.size()) +
                             " bytes, which is not a multiple of a point of " + std::to_string(columns) + " float32");
      }
      count = row.field.bytes.size() / point_bytes;
      auto* copy = reinterpret_cast<float*>(scratch_.get(row.field.bytes.size()));
      if (count != 0) std::memcpy(copy, row.field.bytes.data(), row.field.bytes.size());
      rows = copy;
    } else {
      const Peeked peeked = decoders_.peek(row.field);
      const Shape& shape = peeked.layout.shape;
      if (shape.size() != 2 || static_cast<std::size_t>(shape[1]) != columns) {
        throw Error::shape("is " + array_text(peeked.layout.dtype, shape) + ", not points of " +
                           std::to_string(columns) + " columns");
      }
      count = static_cast<std::size_t>(shape[0]);
      rows = decode_rows(peeked, row, count * columns);
    }
    trace_.points = count;
    cloud_.reset(count, columns);
    cloud_.set(rows, columns);
    draw({.points = count}, row.sample);
    if (drawn_) cloud_.take(read_);
    read_.clear();
  }

  const float* decode_rows(const Peeked& peeked, const SlotRow& row, std::size_t elements) {
    const DType stored = peeked.layout.dtype;
    std::byte* bytes = scratch_.get(elements * size_of(stored));
    peeked.decoder->decode(row.field, nullptr, {bytes, stored, peeked.layout.shape});
    if (stored == DType::f32) return reinterpret_cast<const float*>(bytes);
    std::byte* converted = converted_.get(elements * sizeof(float));
    convert_elements(bytes, stored, converted, DType::f32, elements);
    return reinterpret_cast<const float*>(converted);
  }

  void write(std::span<std::byte> slot) {
    const std::size_t elements = cloud_.rows() * cloud_.columns();
    if (slot.size() != elements * size_of(plan_.dtype)) {
      throw Error::shape("its row has " + std::to_string(slot.size()) + " bytes, but its points need " +
                         std::to_string(elements * size_of(plan_.dtype)));
    }
    if (elements == 0) return;
    const bool converts = plan_.dtype != DType::f32;
    auto* out = reinterpret_cast<float*>(converts ? scratch_.get(elements * sizeof(float)) : slot.data());
    if (plan_.channels_first) {
      for (std::size_t c = 0; c < cloud_.columns(); ++c) {
        std::copy_n(cloud_.column(c), cloud_.rows(), out + c * cloud_.rows());
      }
    } else {
      cloud_.get(out, cloud_.columns());
    }
    if (converts) {
      convert_elements(reinterpret_cast<const std::byte*>(out), DType::f32, slot.data(), plan_.dtype, elements);
    }
  }

  const PointsPlan& plan_;
  Decoders decoders_;
  ScratchMemory scratch_, converted_;
  PointBuffer cloud_;
  std::unique_ptr<PointRunner> first_;  ///< for clouds whose first draw needs coordinates
  std::vector<std::unique_ptr<PointRunner>> steps_;
  std::vector<std::uint32_t> read_;
  PointTrace trace_;
  ItemTrace items_;  ///< of the delivered cloud
  bool seeks_finite_ = false, drawn_ = false;
  bool made_ = false;  ///< cloud_ belongs to the next row to fill
};

}  // namespace

bool PointsProgram::select(const FieldHeader& field, const SampleContext& sample,
                           std::vector<ByteRange>& ranges) const {
  if (!plan_.first || plan_.source != PointsPlan::Source::cloud || plan_.codec != nullptr) return false;
  const CloudCodec* codec = cloud_codec_named(field.schema->codec);
  const std::optional<CloudHeader> header = codec == nullptr ? std::nullopt : codec->cloud(field);
  if (!header) return false;
  std::vector<std::uint32_t> numbers;
  if (!plan_.first->draw(*header, sample, numbers) || numbers.size() == header->points) return false;
  return codec->select_points(field, numbers, ranges);
}

std::unique_ptr<OutputRunner> PointsProgram::runner() const {
  return std::make_unique<PointsRunner>(plan_);
}

Outcomes PointsProgram::explain(const Layout& stored, const SampleContext& sample) const {
  if (!plan_.first || stored.shape.empty()) return {};
  std::vector<std::uint32_t> numbers;
  const CloudHeader header{.points = static_cast<std::uint64_t>(stored.shape[0])};
  if (!plan_.first->draw(header, sample, numbers)) return {};
  return {.steps = {{to_string(Step(plan_.first->step())),
                     "drew " + std::to_string(numbers.size()) + " of " + std::to_string(header.points) + " points"}},
          .geometry = {}};
}

}  // namespace penstock
