#include <algorithm>

#include <penstock/base/error.hpp>
#include <penstock/transforms/decoders.hpp>
#include <penstock/transforms/elements.hpp>
#include <penstock/transforms/program/compile.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {
namespace {

struct ArrayPlan {
  DType stored;
  Shape shape;  ///< of the output
  DType delivered;
  std::int64_t window = 0;  ///< rows drawn; 0: all
  std::uint32_t transform = 0;
  std::shared_ptr<const Codec> codec = nullptr;  ///< the user's own; null: the field's
};

std::string text(DType dtype, const Shape& shape) {
  return std::string(name(dtype)) + " " + to_string(shape);
}

// Where a sample's window begins, among `rows` rows.
std::int64_t window_start(const ArrayPlan& plan, std::int64_t rows, const SampleContext& sample) {
  if (rows < plan.window) {
    throw Error::shape("has " + std::to_string(rows) + " rows, fewer than array.random_window(" +
                       std::to_string(plan.window) + ")");
  }
  Random random(sample.seed, sample.epoch, sample.draws(), plan.transform);
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows - plan.window + 1)));
}

class ArrayRunner final : public OutputRunner {
 public:
  explicit ArrayRunner(const ArrayPlan& plan) : plan_(plan), decoders_({}, plan.codec.get()) {}

  void fill(const SlotRow& row) override {
    Peeked peeked = decoders_.peek(row.field);
    check(peeked.layout);
    FieldBytes field = row.field;
    if (plan_.window != 0 && field.ranges.empty()) {
      field = window_of(row, peeked);
      peeked = decoders_.peek(field);
    }
    if (peeked.layout.shape != plan_.shape) throw wrong(peeked.layout);
    const bool converts = plan_.stored != plan_.delivered;
    const std::uint64_t count = element_count(plan_.shape);
    view_.data = converts ? scratch_.get(count * size_of(plan_.stored)) : row.slot.data();
    view_.dtype = plan_.stored;
    view_.shape = plan_.shape;
    peeked.decoder->decode(field, nullptr, view_);
    row.watch.lap(row.watch.times.decode);
    if (!converts) return;
    convert_elements(view_.data, plan_.stored, row.slot.data(), plan_.delivered, count);
    row.watch.lap(row.watch.times.transform);
  }

  void share(Parallel* parallel) override { decoders_.share(parallel); }

 private:
  // Cuts the drawn rows out of a value that was read whole, as if only they had been read.
  FieldBytes window_of(const SlotRow& row, const Peeked& peeked) {
    const auto start = static_cast<std::uint64_t>(window_start(plan_, peeked.layout.shape[0], row.sample));
    const FieldHeader header{row.field.schema, row.field.bytes, row.field.bytes.size()};
    ranges_.clear();
    if (!peeked.codec->select(header, {start, start + static_cast<std::uint64_t>(plan_.window)}, ranges_)) {
      throw Error::unsupported("array.random_window() of a value that cannot be cut into rows");
    }
    std::uint64_t length = 0;
    for (const ByteRange& range : ranges_) length += range.end - range.begin;
    std::byte* cut = cut_.get(length);
    std::byte* to = cut;
    for (const ByteRange& range : ranges_) {
      to = std::copy_n(row.field.bytes.data() + range.begin, range.end - range.begin, to);
    }
    return {row.field.schema, {cut, length}, ranges_};
  }

  void check(const Layout& layout) const {
    const bool rows_free = plan_.window != 0 && !layout.shape.empty();
    const std::ptrdiff_t first = rows_free ? 1 : 0;
    const bool fits = layout.dtype == plan_.stored && layout.shape.size() == plan_.shape.size() &&
                      std::equal(layout.shape.begin() + first, layout.shape.end(), plan_.shape.begin() + first);
    if (!fits) throw wrong(layout);
  }

  Error wrong(const Layout& layout) const {
    return Error::shape("is " + text(layout.dtype, layout.shape) + ", but the output is " +
                        text(plan_.stored, plan_.shape) +
                        "; array.random_window(rows) takes equally many rows of each value, raw() its stored bytes");
  }

  const ArrayPlan& plan_;
  Decoders decoders_;
  ScratchMemory scratch_, cut_;
  std::vector<ByteRange> ranges_;
  TensorView view_;
};

class ArrayProgram final : public OutputProgram {
 public:
  ArrayProgram(Output output, ArrayPlan plan) : OutputProgram(std::move(output)), plan_(std::move(plan)) {}

  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    if (plan_.window == 0) return false;
    const Codec* codec = plan_.codec != nullptr ? plan_.codec.get() : codec_named(field.schema->codec);
    const std::optional<Layout> layout = codec == nullptr ? std::nullopt : codec->layout(field);
    if (!layout || layout->shape.empty() || layout->shape[0] < plan_.window) return false;  // fill() says what is wrong
    const auto start = static_cast<std::uint64_t>(window_start(plan_, layout->shape[0], sample));
    return codec->select(field, {start, start + static_cast<std::uint64_t>(plan_.window)}, ranges);
  }

  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<ArrayRunner>(plan_); }

  Outcomes explain(const Layout& stored, const SampleContext& sample) const override {
    if (plan_.window == 0 || stored.shape.empty()) return {};
    const std::int64_t start = window_start(plan_, stored.shape[0], sample);
    return {.steps = {{to_string(Step(step::Window{plan_.window})), "drew rows " + std::to_string(start) + " to " +
                                                                        std::to_string(start + plan_.window - 1) +
                                                                        " of " + std::to_string(stored.shape[0])}},
            .geometry = {}};
  }

 private:
  ArrayPlan plan_;
};

}  // namespace

std::unique_ptr<OutputProgram> compile_array(const OutputRequest& request, const FirstValue& sample) {
  if (!sample.layout) throw request.shape("no sample has this field, so its shape cannot be found");
  if (sample.layout->image) {
    throw request.misuse("field \"" + request.schema().name + "\" holds images (" + std::string(sample.codec->name()) +
                         "), not arrays");
  }
  ArrayPlan plan{.stored = sample.layout->dtype, .shape = sample.layout->shape, .delivered = sample.layout->dtype};
  plan.codec = request.own_codec();
  bool cast = false;
  const auto& steps = request.chain.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (cast) throw request.misuse(to_string(steps[i]) + " follows " + to_string(steps[i - 1]));
    if (steps[i].is<step::Elements>() && i != 0) {
      throw request.misuse("array.decode() must come first");
    }
    if (const auto* window = steps[i].as<step::Window>()) {
      if (plan.window != 0) throw request.misuse("array.random_window() stands twice");
      if (plan.shape.empty()) throw request.misuse("array.random_window() needs arrays of rows, not single numbers");
      plan.window = window->rows;
      plan.shape[0] = window->rows;
      plan.transform = request.transform_id(i);
    }
    if (const auto* step = steps[i].as<step::Cast>()) {
      plan.delivered = step->dtype;
      cast = true;
    }
  }
  Output output = request.output(plan.delivered, plan.shape);
  output.partial = plan.window != 0;
  output.verbatim = plan.window == 0 && request.stored_as(plan.delivered, plan.shape);
  if (plan.window == 0 && plan.codec == nullptr && size_of(plan.delivered) <= size_of(plan.stored))
    output.keep = Keep::row;
  return std::make_unique<ArrayProgram>(std::move(output), std::move(plan));
}

}  // namespace penstock
