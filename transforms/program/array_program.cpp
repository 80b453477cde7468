#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <penstock/random.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>
#include <transforms/values/numbers.hpp>

namespace penstock {
namespace {

struct ArrayPlan {
  std::optional<DType> stored;  ///< dtype of every value; nothing: any convertible dtype
  Shape shape;                  ///< of a row; ragged: of an item
  DType delivered;
  bool ragged = false;
  bool follows = false;  ///< ragged: has the items of another output
  NumbersAs numbers{};
  bool reads_text = false;  ///< according to `numbers`
  std::int64_t window = 0;  ///< number of drawn rows; 0: all
  std::uint32_t transform = 0;
  std::shared_ptr<const Codec> codec = nullptr;  ///< the user's codec; null: the field's own
  std::string place = {};                        ///< of the value that determined type and shape, for messages
};

// Returns the first row of a sample's window, among `rows` rows.
std::int64_t window_start(const ArrayPlan& plan, std::int64_t rows, const SampleContext& sample) {
  if (rows < plan.window) {
    throw Error::shape("has " + std::to_string(rows) + " rows, fewer than array.random_slice(" +
                       std::to_string(plan.window) + ")");
  }
  Random random(sample.seed, sample.epoch, sample.draws(), plan.transform);
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows - plan.window + 1)));
}

/// Decodes an array's values. Text from which numbers are wanted has a separate decoder.
class ArrayDecoders {
 public:
  explicit ArrayDecoders(const ArrayPlan& plan) : plan_(plan), decoders_({}, plan.codec.get()) {}

  Peeked peek(const FieldBytes& field) {
    if (!plan_.reads_text || !holds_text_numbers(*field.schema)) return decoders_.peek(field);
    if (text_of_ != field.schema) {
      text_ = numbers_decoder(*field.schema, plan_.numbers);
      text_of_ = field.schema;
    }
    return {.codec = nullptr, .decoder = text_.get(), .layout = text_->peek(field), .in_place = false};
  }
  void share(Parallel* parallel) { decoders_.share(parallel); }

 private:
  const ArrayPlan& plan_;
  Decoders decoders_;
  std::unique_ptr<Decoder> text_;
  const FieldSchema* text_of_ = nullptr;  ///< the schema for which text_ was created
};

class ArrayRunner final : public OutputRunner {
 public:
  explicit ArrayRunner(const ArrayPlan& plan) : plan_(plan), decoders_(plan) {}

  std::uint64_t items(const SlotRow& row) override {
    peeked_ = false;
    value_ = decoders_.peek(row.field);
    trace_ = {.stored = checked_items(value_.layout)};
    trace_.delivered = trace_.stored;
    if (plan_.follows) follow(*row.items);
    peeked_ = true;
    return trace_.delivered;
  }

  void fill(const SlotRow& row) override {
    if (plan_.ragged) return fill_items(row);
    value_ = decoders_.peek(row.field);
    check(value_.layout);
    FieldBytes field = row.field;
    if (plan_.window != 0 && field.ranges.empty()) {
      const auto start = static_cast<std::uint64_t>(window_start(plan_, value_.layout.shape[0], row.sample));
      if (!cut_window(start, field)) return decode_window(start, row);
      value_ = decoders_.peek(field);
    }
    if (value_.layout.shape != plan_.shape) throw wrong(value_.layout);
    decode(field, row);
  }

  const ItemTrace* items_trace() const override { return &trace_; }
  void leave_empty(std::span<std::byte>) override { trace_ = {}; }

  void share(Parallel* parallel) override { decoders_.share(parallel); }

 private:
  // Decodes the whole value into the slot, in the delivered dtype.
  void decode(const FieldBytes& field, const SlotRow& row) {
    const DType stored = value_.layout.dtype;
    const bool converts = stored != plan_.delivered;
    const std::uint64_t count = element_count(value_.layout.shape);
    view_.data = converts ? scratch_.get(count * size_of(stored)) : row.slot.data();
    view_.dtype = stored;
    view_.shape = value_.layout.shape;
    value_.decoder->decode(field, nullptr, view_);
    row.watch.lap(row.watch.times.decode);
    if (!converts) return;
    convert_elements(view_.data, stored, row.slot.data(), plan_.delivered, count);
    row.watch.lap(row.watch.times.transform);
  }

  void fill_items(const SlotRow& row) {
    if (!std::exchange(peeked_, false)) items(row);
    peeked_ = false;
    const std::uint64_t item = element_count(plan_.shape);
    if (row.slot.size() != trace_.delivered * item * size_of(plan_.delivered))
      throw Error::shape("has a different number of items than its slot");
    if (trace_.stored == 0) return;
    if (trace_.all) return decode(row.field, row);
    const DType stored = value_.layout.dtype;
    const std::uint64_t bytes = item * size_of(stored);
    std::byte* all = scratch_.get(trace_.stored * bytes);
    value_.decoder->decode(row.field, nullptr, {all, stored, value_.layout.shape});
    row.watch.lap(row.watch.times.decode);
    for (std::size_t i = 0; i < trace_.kept.size();
         // `kept` ascends, so no item is overwritten before it is moved.
         ++i)
      std::memmove(all + i * bytes, all + trace_.kept[i] * bytes, bytes);
    convert_elements(all, stored, row.slot.data(), plan_.delivered, trace_.delivered * item);
    row.watch.lap(row.watch.times.transform);
  }

  // Selects the items that the followed output kept.
  void follow(const ItemTrace& leader) {
    if (trace_.stored != leader.stored) {
      throw Error::shape("has " + std::to_string(trace_.stored) + " items, but the output that it follows has " +
                         std::to_string(leader.stored));
    }
    if (leader.all) return;
    kept_.assign(leader.kept.begin(), leader.kept.end());
    trace_.all = false;
    trace_.kept = kept_;
    trace_.delivered = kept_.size();
  }

  std::uint64_t checked_items(const Layout& layout) const {
    const Shape& shape = layout.shape;
    if (layout.image || layout.cloud) throw wrong(layout);
    if (shape.empty()) throw Error::shape("is a single number, but the output requires a list of items");
    if (element_count(shape) == 0) return 0;  // without elements the type is unknown, so it need not fit
    const bool fits = (!plan_.stored || layout.dtype == *plan_.stored) && shape.size() == plan_.shape.size() + 1 &&
                      std::equal(plan_.shape.begin(), plan_.shape.end(), shape.begin() + 1);
    if (!fits) throw wrong_items(layout);
    return static_cast<std::uint64_t>(shape[0]);
  }

  // Cuts the drawn rows out of a value that was read as a whole, so that they look as if read separately. Returns false
  // if its rows cannot be decoded without the others.
  bool cut_window(std::uint64_t start, FieldBytes& field) {
    const FieldHeader header{field.schema, field.bytes, field.bytes.size()};
    ranges_.clear();
    if (value_.codec == nullptr ||
        !value_.codec->select(header, {start, start + static_cast<std::uint64_t>(plan_.window)}, ranges_)) {
      return false;
    }
    std::uint64_t length = 0;
    for (const ByteRange& range : ranges_) length += range.end - range.begin;
    std::byte* cut = cut_.get(length);
    std::byte* to = cut;
    for (const ByteRange& range : ranges_) {
      to = std::copy_n(field.bytes.data() + range.begin, range.end - range.begin, to);
    }
    field = {field.schema, {cut, length}, ranges_};
    return true;
  }

  // Decodes the whole value and copies the drawn rows.
  void decode_window(std::uint64_t start, const SlotRow& row) {
    const Layout& layout = value_.layout;
    const std::uint64_t bytes = element_count(layout.shape) * size_of(layout.dtype);
    const std::uint64_t row_bytes = bytes / static_cast<std::uint64_t>(layout.shape[0]);
    std::byte* all = scratch_.get(bytes);
    value_.decoder->decode(row.field, nullptr, {all, layout.dtype, layout.shape});
    row.watch.lap(row.watch.times.decode);
    convert_elements(all + start * row_bytes, layout.dtype, row.slot.data(), plan_.delivered,
                     element_count(plan_.shape));
    row.watch.lap(row.watch.times.transform);
  }

  void check(const Layout& layout) const {
    const bool rows_free = plan_.window != 0 && !layout.shape.empty();
    const std::ptrdiff_t first = rows_free ? 1 : 0;
    const bool fits = (!plan_.stored || layout.dtype == *plan_.stored) && layout.shape.size() == plan_.shape.size() &&
                      std::equal(layout.shape.begin() + first, layout.shape.end(), plan_.shape.begin() + first);
    if (!fits) throw wrong(layout);
  }

  Error wrong(const Layout& layout) const {
    return Error::shape("is " + array_text(layout.dtype, layout.shape) + ", but the output is " +
                        array_text(plan_.stored.value_or(plan_.delivered), plan_.shape) + like_first() +
                        "; use array.decode(ragged=True) for values of different lengths, array.random_slice(rows) for "
                        "equally many rows of each, or raw() for the stored bytes");
  }

  Error wrong_items(const Layout& layout) const {
    const Shape item(layout.shape.begin() + 1, layout.shape.end());
    const bool type = plan_.stored && layout.dtype != *plan_.stored;
    return Error::shape("has items " + array_text(layout.dtype, item) + ", but the output's are " +
                        array_text(plan_.stored.value_or(plan_.delivered), plan_.shape) + like_first() +
                        (type ? "; pass a dtype to array.decode() to convert all items"
                              : "; pass the shape of an item as shape=..., or () for numbers"));
  }

  std::string like_first() const { return plan_.place.empty() ? "" : ", like " + plan_.place; }

  const ArrayPlan& plan_;
  ArrayDecoders decoders_;
  Peeked value_{};
  bool peeked_ = false;  ///< value_ belongs to the next row to fill
  ItemTrace trace_;
  std::vector<std::uint32_t> kept_;
  ScratchMemory scratch_, cut_;
  std::vector<ByteRange> ranges_;
  TensorView view_;
};

class ArrayProgram final : public OutputProgram {
 public:
  ArrayProgram(Output output, ArrayPlan plan) : OutputProgram(std::move(output)), plan_(std::move(plan)) {}

  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    if (plan_.window == 0 || (plan_.reads_text && holds_text_numbers(*field.schema))) return false;
    const Codec* codec = plan_.codec != nullptr ? plan_.codec.get() : codec_named(field.schema->codec);
    const std::optional<Layout> layout = codec == nullptr ? std::nullopt : codec->layout(field);
    // fill() reports the error.
    if (!layout || layout->shape.empty() || layout->shape[0] < plan_.window) return false;
    const auto start = static_cast<std::uint64_t>(window_start(plan_, layout->shape[0], sample));
    return codec->select(field, {start, start + static_cast<std::uint64_t>(plan_.window)}, ranges);
  }

  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<ArrayRunner>(plan_); }

  bool traces_items() const override { return plan_.ragged; }

  std::optional<Layout> read_as(const FieldBytes& field) const override {
    if (!plan_.reads_text || !holds_text_numbers(*field.schema)) return std::nullopt;
    return ArrayDecoders(plan_).peek(field).layout;
  }

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

const step::Elements* elements_of(const Chain& chain) {
  return find_step<step::Elements>(chain);
}

std::optional<Layout> probe_items(const OutputRequest& request, ArrayPlan& plan) {
  ArrayDecoders decoders(plan);
  return request.probe_items([&](const FieldBytes& value) { return decoders.peek(value).layout; }, &plan.place);
}

/// Plans a ragged output from the first value that has an item.
ArrayPlan plan_items(const OutputRequest& request) {
  const step::Elements& asked = *elements_of(request.chain);
  ArrayPlan plan{.stored = std::nullopt, .shape = {}, .delivered = DType::f64, .ragged = true};
  plan.codec = request.own_codec();
  plan.follows = request.leader != nullptr;
  plan.reads_text = plan.codec == nullptr;
  plan.numbers = {.dtype = asked.dtype, .items = true, .item = asked.shape};
  const std::optional<Layout> first = probe_items(request, plan);
  if (!first && !(asked.dtype && asked.shape)) throw request.shape("no sample has this field, so its shape is unknown");
  if (first && (first->image || first->cloud)) {
    throw request.misuse("field \"" + request.schema().name + "\" holds " + (first->image ? "images" : "point clouds") +
                         ", not arrays");
  }
  const bool known = first && !first->shape.empty() && element_count(first->shape) != 0;
  if (first && first->shape.empty())
    throw request.shape("the first value is a single number, but ragged=True requires lists of items");
  if (asked.shape) {
    plan.shape = *asked.shape;
  } else if (first->shape.size() > 1) {
    plan.shape.assign(first->shape.begin() + 1, first->shape.end());
    if (element_count(plan.shape) == 0)
      throw request.shape("no value has an element, so the shape of an item is unknown; pass shape=...");
  }
  plan.delivered = asked.dtype.value_or(first ? first->dtype : DType::f64);
  if (!asked.dtype && known) plan.stored = first->dtype;
  if (!asked.dtype && plan.reads_text) plan.numbers.dtype = plan.stored;
  return plan;
}

bool reads_lines(const OutputRequest& request) {
  return std::ranges::any_of(
      request.sources, [&](std::uint32_t source) { return holds_lines_of_numbers(request.catalog->fields[source]); });
}

/// Plans an output whose values all have the same type and shape.
ArrayPlan plan_rows(const OutputRequest& request, const FirstValue* known) {
  const step::Elements* asked = elements_of(request.chain);
  const bool text = asked != nullptr && asked->dtype && request.own_codec() == nullptr &&
                    std::ranges::any_of(request.sources, [&](std::uint32_t source) {
                      return holds_text_numbers(request.catalog->fields[source]);
                    });
  std::optional<Layout> layout;
  ArrayPlan plan{.stored = std::nullopt, .shape = {}, .delivered = DType::f64};
  plan.codec = request.own_codec();
  if (find_step<step::Window>(request.chain) == nullptr) require_equal_rows(request);
  if (!text && !request.chain.steps.empty()) refuse_bytes_of_text(request);
  plan.reads_text = text;
  if (asked != nullptr) plan.numbers.dtype = asked->dtype;
  if (text) {
    layout = probe_items(request, plan);
  } else {
    const FirstValue first = known != nullptr ? *known : request.probe();
    layout = first.layout;
    plan.place = first.place;
    if (layout && layout->image) {
      throw request.misuse("field \"" + request.schema().name + "\" holds images (" + std::string(first.codec->name()) +
                           "), not arrays");
    }
  }
  if (!layout) throw request.shape("no sample has this field, so its shape is unknown");
  if (text && element_count(layout->shape) == 0 && reads_lines(request))
    throw request.shape("no value of this field contains a number, so its shape is unknown");
  if (asked == nullptr || !asked->dtype) plan.stored = layout->dtype;
  plan.shape = layout->shape;
  plan.delivered = plan.stored.value_or(asked == nullptr ? layout->dtype : asked->dtype.value_or(layout->dtype));
  return plan;
}

void plan_step(const OutputRequest& request, std::size_t i, ArrayPlan& plan) {
  const Step& step = request.chain.steps[i];
  if (step.is<step::Elements>() && i != 0 && !(i == 1 && request.own_codec() != nullptr))
    throw request.misuse("array.decode() must come first");
  if (const auto* window = step.as<step::Window>()) {
    if (plan.window != 0) throw request.misuse("array.random_slice() is given twice");
    if (plan.ragged)
      throw request.misuse(
          "array.random_slice() cannot be combined with ragged=True, because it makes all rows equally long");
    if (plan.shape.empty()) throw request.misuse("array.random_slice() needs arrays of rows, not single numbers");
    plan.window = window->rows;
    plan.shape[0] = window->rows;
    plan.transform = request.transform_id(i);
  }
  if (const auto* cast = step.as<step::Cast>()) {
    const step::Elements* asked = elements_of(request.chain);
    if (asked != nullptr && asked->dtype)
      throw request.misuse(to_string(step) + ": " + to_string(Step(*asked)) + " already sets a dtype");
    plan.delivered = cast->dtype;
  }
}

}  // namespace

void refuse_bytes_of_text(const OutputRequest& request) {
  if (request.own_codec() != nullptr) return;
  const auto* cast = find_step<step::Cast>(request.chain);
  for (const std::uint32_t source : request.sources) {
    const FieldSchema& schema = request.catalog->fields[source];
    if (!holds_lines_of_numbers(schema)) continue;
    throw request.misuse("field \"" + schema.name + "\" is text: array.decode(\"" +
                         std::string(name(cast != nullptr ? cast->dtype : DType::f32)) +
                         "\") reads the numbers in it, raw() delivers its bytes");
  }
}

std::unique_ptr<OutputProgram> compile_array(const OutputRequest& request, const FirstValue* first) {
  const step::Elements* asked = elements_of(request.chain);
  ArrayPlan plan = asked != nullptr && asked->ragged ? plan_items(request) : plan_rows(request, first);
  const auto& steps = request.chain.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i != 0 && steps[i - 1].is<step::Cast>())
      throw request.misuse(to_string(steps[i]) + " cannot come after " + to_string(steps[i - 1]));
    plan_step(request, i, plan);
  }
  Output output = request.output(plan.delivered, plan.shape);
  output.ragged = output.may_be_missing = plan.ragged;
  output.partial = plan.window != 0;
  output.verbatim = !plan.ragged && plan.window == 0 && request.stored_as(plan.delivered, plan.shape);
  const bool smaller = plan.stored && size_of(plan.delivered) <= size_of(*plan.stored);
  if (!plan.ragged && !plan.reads_text && plan.window == 0 && plan.codec == nullptr && smaller) output.keep = Keep::row;
  if (plan.follows) output.kind = RowKind::follower;
  return std::make_unique<ArrayProgram>(std::move(output), std::move(plan));
}

}  // namespace penstock
