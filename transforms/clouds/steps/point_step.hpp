// What a step does that changes the points of a cloud, and its table.
#pragma once

#include <memory>
#include <utility>

#include <penstock/random.hpp>
#include <transforms/chain/parameter.hpp>
#include <transforms/clouds/steps/point_buffer.hpp>

namespace penstock {

/// A worker's own: samplers keep scratch. All results are the same on every machine: no function of libm, whose last
/// bit depends on the processor, is used but the square root.
class PointRunner {
 public:
  virtual ~PointRunner() = default;
  /// Throws Error: corrupt, where a coordinate is no number; shape.
  virtual void apply(PointBuffer& cloud, Random& random) = 0;
};

class PointStep {
 public:
  virtual ~PointStep() = default;
  virtual std::unique_ptr<PointRunner> runner(const Step& step) const = 0;
};

/// Of a struct with `void apply(PointBuffer& cloud, Random& random) const`, or, where a worker keeps something from
/// cloud to cloud, with `std::unique_ptr<PointRunner> runner() const`.
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
