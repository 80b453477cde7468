// The interface and the table of a step that changes the points of a cloud.
#pragma once

#include <memory>
#include <utility>

#include <penstock/random.hpp>
#include <transforms/chain/parameter.hpp>
#include <transforms/clouds/steps/point_buffer.hpp>

namespace penstock {

/// Applies a step. Each worker has one, because samplers keep scratch memory. Results are equal on all machines:
/// runners use no libm functions except the square root, because the last bit of the others depends on the processor.
class PointRunner {
 public:
  virtual ~PointRunner() = default;
  /// Throws Error: corrupt, if a coordinate is not finite; shape.
  virtual void apply(PointBuffer& cloud, Random& random) = 0;
};

class PointStep {
 public:
  virtual ~PointStep() = default;
  virtual std::unique_ptr<PointRunner> runner(const Step& step) const = 0;
};

/// The table of a step struct. The struct has `void apply(PointBuffer& cloud, Random& random) const`. If a worker must
/// keep data between clouds, it has `std::unique_ptr<PointRunner> runner() const` instead.
template <typename Kind>
class PointTable final : public TableOf<Kind>, public PointStep {
 public:
  template <typename... Values>
  PointTable(std::string_view called, std::string_view means, Parameter<Kind, Values>... takes)
      : TableOf<Kind>(called, means, std::move(takes)...) {
    this->points_ = this;
    this->traits_.domain = Domain::points;
  }

  std::unique_ptr<PointRunner> runner(const Step& step) const override {
    const Kind& kind = *step.as<Kind>();
    if constexpr (requires { kind.runner(); }) {
      return kind.runner();
    } else {
      return std::make_unique<Applied>(kind);
    }
  }

 private:
  struct Applied final : PointRunner {
    explicit Applied(const Kind& step) : kind(step) {}
    void apply(PointBuffer& cloud, Random& random) override { kind.apply(cloud, random); }
    const Kind kind;
  };
};

}  // namespace penstock
