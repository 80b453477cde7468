// Compiles outputs that go with points: attributes, rows of an array of labels, a mask of valid points, the origin.
#include <algorithm>
#include <cstring>

#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/steps/point_buffer.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>
#include <transforms/program/points_program.hpp>

namespace penstock {
namespace {

/// One value per point.
struct ColumnPlan {
  std::string attribute;  ///< of a cloud; empty: rows of an array
  DType stored = DType::f32, delivered = DType::f32;
  Shape row = {};  ///< shape per point
  bool follows = false;
  std::int64_t rows = 0;  ///< 0: ragged
  std::uint64_t element_bytes() const { return element_count(row) * size_of(stored); }
};

// Decodes a value for each point that was read, then selects those of the leader's rows.
class ColumnRunner final : public OutputRunner {
 public:
  explicit ColumnRunner(const ColumnPlan& plan)
      : plan_(plan),
        decoders_(plan.attribute.empty() ? DecodeOptions{} : DecodeOptions{.attributes = {plan.attribute}}) {}

  std::uint64_t items(const SlotRow& row) override {
    if (plan_.follows) return row.points->numbers.size();
    const Layout layout = decoders_.peek(row.field).layout;
    return layout.shape.empty() ? 0 : static_cast<std::uint64_t>(layout.shape[0]);
  }

  void fill(const SlotRow& row) override {
    const Peeked peeked = decoders_.peek(row.field);
    const std::uint64_t read = plan_.attribute.empty() ? decode_rows(peeked, row) : decode_attribute(peeked, row);
    row.watch.lap(row.watch.times.decode);
    const std::byte* picked = values_;
    std::uint64_t rows = read;
    if (plan_.follows) {
      rows = row.points->numbers.size();
      picked = pick(*row.points);
    }
    const std::uint64_t elements = rows * element_count(plan_.row);
    if (row.slot.size() != elements * size_of(plan_.delivered)) {
      throw Error::shape("has " + std::to_string(rows) + " points, but its row has room for " +
                         std::to_string(row.slot.size() / (element_count(plan_.row) * size_of(plan_.delivered))));
    }
    if (elements != 0) convert_elements(picked, plan_.stored, row.slot.data(), plan_.delivered, elements);
    trace_ = {.stored = rows, .delivered = rows};
    row.watch.lap(row.watch.times.transform);
  }

  const ItemTrace* items_trace() const override { return &trace_; }
  void share(Parallel* parallel) override { decoders_.share(parallel); }

 private:
  std::uint64_t decode_attribute(const Peeked& peeked, const SlotRow& row) {
    CloudDecoder& decoder = cloud_decoder(peeked);
    const CloudHeader& header = decoder.header();
    const std::size_t number = attribute_number(header, plan_.attribute);
    if (header.attributes[number].dtype != plan_.stored) {
      throw Error::shape("attribute \"" + plan_.attribute + "\" is " +
                         std::string(name(header.attributes[number].dtype)) + " here, " +
                         std::string(name(plan_.stored)) + " in the first sample");
    }
    if (plan_.follows) check_points(header.points, *row.points);
    const bool some = plan_.follows && !row.points->read.empty();
    const PointChoice choice{.all = !some, .numbers = some ? row.points->read : std::span<const std::uint32_t>{}};
    const std::uint64_t count = choice.count(header.points);
    values_ = scratch_.get(count * size_of(plan_.stored));
    decoder.attribute(row.field, choice, number, values_);
    read_ = choice.numbers;
    return count;
  }

  std::uint64_t decode_rows(const Peeked& peeked, const SlotRow& row) {
    const Layout& layout = peeked.layout;
    const bool fits = layout.dtype == plan_.stored && layout.shape.size() == plan_.row.size() + 1 &&
                      std::equal(plan_.row.begin(), plan_.row.end(), layout.shape.begin() + 1);
    if (!fits) {
      throw Error::shape("is " + array_text(layout.dtype, layout.shape) + ", unlike in the first sample");
    }
    const auto count = static_cast<std::uint64_t>(layout.shape[0]);
    check_points(count, *row.points);
    values_ = scratch_.get(count * plan_.element_bytes());
    peeked.decoder->decode(row.field, nullptr, {values_, layout.dtype, layout.shape});
    read_ = {};
    return count;
  }

  static void check_points(std::uint64_t count, const PointTrace& points) {
    if (count == points.points) return;
    throw Error::shape("has " + std::to_string(count) + " entries, but the cloud that it follows has " +
                       std::to_string(points.points) + " points");
  }

  // A point's value has the point's index among the read points. Padding gets zeros.
  const std::byte* pick(const PointTrace& points) {
    const std::uint64_t bytes = plan_.element_bytes();
    std::byte* picked = picked_.get(points.numbers.size() * bytes);
    std::byte* to = picked;
    for (const std::uint32_t number : points.numbers) {
      if (number == PointBuffer::kPadding) {
        std::memset(to, 0, bytes);
      } else {
        const std::uint64_t at =
            read_.empty() ? number
                          : static_cast<std::uint64_t>(std::ranges::lower_bound(read_, number) - read_.begin());
        std::memcpy(to, values_ + at * bytes, bytes);
      }
      to += bytes;
    }
    return picked;
  }

  const ColumnPlan& plan_;
  Decoders decoders_;
  ScratchMemory scratch_, picked_;
  std::byte* values_ = nullptr;
  ItemTrace trace_;
  std::span<const std::uint32_t> read_;
};

class ColumnProgram final : public OutputProgram {
 public:
  ColumnProgram(Output output, ColumnPlan plan, const PointsProgram* leader)
      : OutputProgram(std::move(output)), plan_(std::move(plan)), leader_(leader) {}
  // The cloud's attributes are in the same records as the coordinates.
  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    return leader_ != nullptr && !plan_.attribute.empty() && leader_->select(field, sample, ranges);
  }
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<ColumnRunner>(plan_); }
  bool traces_items() const override { return true; }

 private:
  ColumnPlan plan_;
  const PointsProgram* leader_;
};

class MaskRunner final : public OutputRunner {
 public:
  std::uint64_t items(const SlotRow& row) override { return row.points->numbers.size(); }
  void fill(const SlotRow& row) override {
    const auto numbers = row.points->numbers;
    if (row.slot.size() != numbers.size()) throw Error::shape("has " + std::to_string(numbers.size()) + " points");
    for (std::size_t i = 0; i < numbers.size(); ++i) row.slot[i] = std::byte{numbers[i] != PointBuffer::kPadding};
    row.watch.lap(row.watch.times.transform);
  }
};

class MaskProgram final : public OutputProgram {
 public:
  MaskProgram(Output output, const PointsProgram& leader) : OutputProgram(std::move(output)), leader_(leader) {}
  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    return leader_.select(field, sample, ranges);
  }
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<MaskRunner>(); }

 private:
  const PointsProgram& leader_;
};

class OriginRunner final : public OutputRunner {
 public:
  void fill(const SlotRow& row) override {
    const auto& origin = cloud_decoder(decoders_.peek(row.field)).header().origin;
    std::memcpy(row.slot.data(), origin.data(), sizeof(origin));
    row.watch.lap(row.watch.times.decode);
  }

 private:
  Decoders decoders_;
};

class OriginProgram final : public OutputProgram {
 public:
  OriginProgram(Output output, const PointsProgram* leader) : OutputProgram(std::move(output)), leader_(leader) {}
  // The ranges of the points include the header.
  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    return leader_ != nullptr && leader_->select(field, sample, ranges);
  }
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<OriginRunner>(); }

 private:
  const PointsProgram* leader_;
};

void plan_attribute(const OutputRequest& request, ColumnPlan& plan) {
  const FirstValue first = request.probe({.attributes = {plan.attribute}});
  if (!first.cloud) {
    throw request.misuse("field \"" + request.schema().name +
                         "\" does not contain point clouds, so it has no attributes");
  }
  try {
    plan.stored = first.cloud->attributes[attribute_number(*first.cloud, plan.attribute)].dtype;
  } catch (const Error& error) {
    throw request.misuse(error.cause());
  }
}

void plan_rows(const OutputRequest& request, ColumnPlan& plan) {
  const FirstValue first = request.probe();
  if (!first.layout || first.layout->shape.empty() || first.layout->cloud || first.layout->image) {
    throw request.misuse(
        "only points.attribute(), points.valid_mask() and arrays with one row for each point can follow points");
  }
  plan.stored = first.layout->dtype;
  plan.row.assign(first.layout->shape.begin() + 1, first.layout->shape.end());
}

// Followers of the same cloud read the same parts.
void read_like(const PointsProgram* leader, Output& output) {
  if (leader == nullptr) return;
  output.partial = leader->output().partial;
  output.scattered = leader->output().scattered;
}

}  // namespace

std::unique_ptr<OutputProgram> compile_point_follower(const OutputRequest& request) {
  const PointsProgram* leader = request.leader == nullptr ? nullptr : request.leader->points();
  if (leader != nullptr && leader->plan().makes_points) {
    throw request.misuse(
        "the output that it follows creates new points; voxel=\"first\" or \"random\" keeps stored ones");
  }
  const bool mask = find_step<step::PointsValidMask>(request.chain) != nullptr;
  ColumnPlan plan{.attribute = {}, .follows = leader != nullptr};
  if (const auto* attribute = find_step<step::Attribute>(request.chain)) plan.attribute = attribute->name;
  const auto* cast = find_step<step::Cast>(request.chain);
  const std::size_t known = (cast != nullptr ? 1U : 0U) + (mask || !plan.attribute.empty() ? 1U : 0U) +
                            (find_step<step::Elements>(request.chain) != nullptr ? 1U : 0U);
  if (known != request.chain.steps.size() || (mask && request.chain.steps.size() != 1)) {
    throw request.misuse(
        "points.valid_mask() must be the only step after follow(); only a cast may come after points.attribute() and "
        "arrays");
  }
  plan.rows = leader == nullptr ? 0 : leader->plan().rows;
  Shape shape;
  if (plan.rows != 0) shape.push_back(plan.rows);
  if (mask) {
    Output output = request.output(DType::boolean, shape);
    output.ragged = plan.rows == 0;
    output.describes = true;
    read_like(leader, output);
    return std::make_unique<MaskProgram>(std::move(output), *leader);
  }
  if (plan.attribute.empty()) {
    plan_rows(request, plan);
  } else {
    plan_attribute(request, plan);
  }
  const auto* elements = find_step<step::Elements>(request.chain);
  if (elements != nullptr && elements->shape)
    throw request.misuse(
        "shape cannot be given for rows of points; the dimensions after the first one belong to a point");
  if (elements != nullptr && elements->dtype && cast != nullptr)
    throw request.misuse(to_string(Step(*cast)) + ": " + to_string(Step(*elements)) + " already sets a dtype");
  const std::optional<DType> asked = elements != nullptr ? elements->dtype : std::nullopt;
  plan.delivered = cast != nullptr ? cast->dtype : asked.value_or(plan.stored);
  shape.insert(shape.end(), plan.row.begin(), plan.row.end());
  Output output = request.output(plan.delivered, shape);
  output.ragged = plan.rows == 0;
  if (!plan.attribute.empty()) read_like(leader, output);
  return std::make_unique<ColumnProgram>(std::move(output), std::move(plan), leader);
}

std::unique_ptr<OutputProgram> compile_origin(const OutputRequest& request) {
  if (request.chain.steps.size() != 1) throw request.misuse("points.origin() must be the only step of its chain");
  const PointsProgram* leader = request.leader == nullptr ? nullptr : request.leader->points();
  Output output = request.output(DType::f64, {3});
  output.describes = true;
  read_like(leader, output);
  return std::make_unique<OriginProgram>(std::move(output), leader);
}

}  // namespace penstock
