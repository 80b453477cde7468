#include <utility>

#include <penstock/error.hpp>
#include <penstock/random.hpp>
#include <penstock/transform.hpp>
#include <transforms/decoders.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>

namespace penstock {
namespace {

struct OwnStep {
  std::shared_ptr<const Transform> transform;
  TensorType out;
  std::uint32_t number;  ///< `transform` of its Random
};

struct OwnPlan {
  std::unique_ptr<OutputProgram> before;  ///< the steps before the user's
  std::vector<OwnStep> steps;
};

class OwnRunner final : public OutputRunner {
 public:
  explicit OwnRunner(const OwnPlan& plan) : plan_(plan), before_(plan.before->runner()) {}

  void fill(const SlotRow& row) override {
    TensorView in = run_before(row);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const OwnStep& step = plan_.steps[i];
      const bool last = i + 1 == plan_.steps.size();
      TensorView out{.dtype = step.out.dtype, .shape = step.out.shape};
      out.data = last ? row.slot.data() : scratch_[(i + 1) % 2].get(out.bytes());
      Random random(row.sample.seed, row.sample.epoch, row.sample.draws(), step.number);
      step.transform->apply(in, out, random);
      in = std::move(out);
    }
    row.watch.lap(row.watch.times.transform);
  }

  const Placement* placement() const override { return before_->placement(); }
  const PointTrace* trace() const override { return before_->trace(); }
  void share(Parallel* parallel) override { before_->share(parallel); }

 private:
  TensorView run_before(const SlotRow& row) {
    const Output& output = plan_.before->output();
    TensorView value{.dtype = output.dtype, .shape = output.shape};
    if (output.ragged) {
      value.shape.insert(value.shape.begin(), static_cast<std::int64_t>(before_->items(row)));
      row.watch.lap(row.watch.times.decode);
    }
    value.data = scratch_[0].get(value.bytes());
    before_->fill({row.field, row.sample, row.leader, row.points, row.items, {value.data, value.bytes()}, row.watch});
    return value;
  }

  const OwnPlan& plan_;
  std::unique_ptr<OutputRunner> before_;
  ScratchMemory scratch_[2];
};

class OwnProgram final : public OutputProgram {
 public:
  OwnProgram(Output output, OwnPlan plan) : OutputProgram(std::move(output)), plan_(std::move(plan)) {}
  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override {
    return plan_.before->select(field, sample, ranges);
  }
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<OwnRunner>(plan_); }
  std::optional<Layout> read_as(const FieldBytes& field) const override { return plan_.before->read_as(field); }
  bool takes_bytes() const override { return plan_.before->takes_bytes(); }
  Outcomes explain(const Layout& stored, const SampleContext& sample) const override {
    return plan_.before->explain(stored, sample);
  }
  std::optional<Size> image_size() const override { return plan_.before->image_size(); }
  const PointsProgram* points() const override { return plan_.before->points(); }

 private:
  OwnPlan plan_;
};

TensorType type_of(const Output& output) {
  TensorType type{.dtype = output.dtype, .shape = output.shape};
  if (output.ragged) type.shape.insert(type.shape.begin(), -1);
  return type;
}

TensorType asked(const OutputRequest& request, const Transform& transform, const TensorType& in) {
  TensorType out;
  try {
    out = transform.output(in);
  } catch (const Error& error) {
    throw Error(error.kind(), request.misuse(error.cause()).cause(), error.context());
  } catch (const std::exception& error) {
    throw request.misuse(error.what());
  }
  for (const std::int64_t size : out.shape) {
    if (size < 0) {
      throw request.misuse(std::string(transform.name()) + " gives rows of shape " + to_string(out.shape) +
                           ", but all rows must have one shape");
    }
  }
  return out;
}

}  // namespace

std::unique_ptr<OutputProgram> compile_own(const OutputRequest& request) {
  OutputRequest before = request;
  std::vector<Step>& steps = before.chain.steps;
  while (!steps.empty() && steps.back().is<step::OwnTransform>()) steps.pop_back();
  OwnPlan plan{.before = compile(before), .steps = {}};
  TensorType type = type_of(plan.before->output());
  for (std::size_t i = steps.size(); i < request.chain.steps.size(); ++i) {
    const auto& transform = request.chain.steps[i].as<step::OwnTransform>()->transform;
    type = asked(request, *transform, type);
    plan.steps.push_back({transform, type, request.transform_id(i)});
  }
  if (plan.before->output().padding && plan.before->output().ragged)
    throw request.misuse("pad() without a length must come last; pad(length) may come before a transform");
  if (plan.before->output().own_dimensions != 0)
    throw request.misuse("images of different sizes have no common shape to pass to " +
                         to_string(request.chain.steps.back()));
  Output output = request.output(type.dtype, type.shape);
  output.partial = plan.before->output().partial;
  output.scattered = plan.before->output().scattered;
  return std::make_unique<OwnProgram>(std::move(output), std::move(plan));
}

}  // namespace penstock
