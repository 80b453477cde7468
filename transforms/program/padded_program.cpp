#include <cmath>
#include <cstring>
#include <utility>

#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>

namespace penstock {
namespace {

struct PaddedPlan {
  std::unique_ptr<OutputProgram> before;  ///< the ragged output
  std::int64_t length = 0;                ///< 0: the batch decides after all its rows are filled
  bool truncates = false;
  RowPadding padding;
};

class PaddedRunner final : public OutputRunner {
 public:
  explicit PaddedRunner(const PaddedPlan& plan) : plan_(plan), before_(plan.before->runner()) {}

  std::uint64_t items(const SlotRow& row) override { return before_->items(row); }

  void fill(const SlotRow& row) override {
    if (plan_.length == 0) {
      before_->fill(row);
    } else {
      fill_to_length(row);
    }
    trace_ = *before_->items_trace();
    if (plan_.length != 0) trace_.delivered = std::min(trace_.delivered, static_cast<std::uint64_t>(plan_.length));
  }

  void leave_empty(std::span<std::byte> slot) override {
    before_->leave_empty({});
    trace_ = *before_->items_trace();
    plan_.padding.element.fill(slot);
  }

  const PointTrace* trace() const override { return before_->trace(); }
  const ItemTrace* items_trace() const override { return &trace_; }
  void share(Parallel* parallel) override { before_->share(parallel); }

 private:
  void fill_to_length(const SlotRow& row) {
    const std::uint64_t items = before_->items(row), length = static_cast<std::uint64_t>(plan_.length);
    row.watch.lap(row.watch.times.decode);
    if (items > length && !plan_.truncates) {
      throw Error::shape("has " + std::to_string(items) + " items, more than pad(" + std::to_string(length) +
                         "); pass longer=\"truncate\" to cut them off");
    }
    const std::uint64_t bytes = items * plan_.before->output().row_bytes();
    const bool cut = bytes > row.slot.size();
    const std::span<std::byte> whole = cut ? std::span(scratch_.get(bytes), bytes) : row.slot.first(bytes);
    before_->fill({row.field, row.sample, row.leader, row.points, row.items, whole, row.watch});
    if (cut) std::memcpy(row.slot.data(), whole.data(), row.slot.size());
    if (!cut) plan_.padding.element.fill(row.slot.subspan(bytes));
    row.watch.lap(row.watch.times.transform);
  }

  const PaddedPlan& plan_;
  std::unique_ptr<OutputRunner> before_;
  ScratchMemory scratch_;
  ItemTrace trace_;
};

class PaddedProgram final : public OutputProgram {
 public:
  PaddedProgram(Output output, PaddedPlan plan) : OutputProgram(std::move(output)), plan_(std::move(plan)) {}
  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    return plan_.before->select(field, sample, ranges);
  }
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<PaddedRunner>(plan_); }
  std::optional<Layout> read_as(const FieldBytes& field) const override { return plan_.before->read_as(field); }
  bool takes_bytes() const override { return plan_.before->takes_bytes(); }
  Outcomes explain(const Layout& stored, const SampleContext& sample) const override {
    return plan_.before->explain(stored, sample);
  }
  bool traces_items() const override { return true; }
  const PointsProgram* points() const override { return plan_.before->points(); }

 private:
  PaddedPlan plan_;
};

// Throws if the dtype cannot represent the value.
RowPadding padding_of(const OutputRequest& request, const step::PadItems& step, DType dtype) {
  const std::optional<Element> element = element_of(dtype, step.value);
  if (!element || !std::isfinite(step.value))
    throw request.misuse(to_string(Step(step)) + ": the value does not fit " + std::string(name(dtype)));
  return {.multiple = step.multiple_of, .element = *element};
}

std::string instead_of_pad(const OutputProgram& before) {
  if (before.image_size() || before.output().own_dimensions != 0) return "use image.pad() to add pixels";
  if (before.points() != nullptr) return "use points.pad() to add points";
  return "put array.decode(ragged=True) before it for rows of different lengths";
}

}  // namespace

std::unique_ptr<OutputProgram> compile_padded(const OutputRequest& request) {
  OutputRequest before = request;
  std::vector<Step>& steps = before.chain.steps;
  const step::PadItems step = *steps.back().as<step::PadItems>();
  steps.pop_back();
  PaddedPlan plan{
      .before = compile(before), .length = step.length, .truncates = step.longer == Longer::truncate, .padding = {}};
  const Output& ragged = plan.before->output();
  if (!ragged.ragged || ragged.own_dimensions != 0 || !plan.before->traces_items()) {
    throw request.misuse(
        "pad() requires ragged rows, but these rows are " +
        (ragged.own_dimensions != 0 ? "images of different sizes" : "all " + array_text(ragged.dtype, ragged.shape)) +
        "; " + instead_of_pad(*plan.before));
  }
  plan.padding = padding_of(request, step, ragged.dtype);
  Output output = ragged;
  output.verbatim = false;
  output.padding = plan.padding;
  if (plan.length != 0) {
    output.ragged = false;
    output.shape.insert(output.shape.begin(), plan.length);
  }
  return std::make_unique<PaddedProgram>(std::move(output), std::move(plan));
}

}  // namespace penstock
