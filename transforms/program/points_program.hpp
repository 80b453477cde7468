// Compiles outputs of points: a chain of points:: steps on a cloud, or on an array of points.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/chain.hpp>
#include <penstock/points.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>
#include <transforms/program/output_program.hpp>

namespace penstock {

/// The stored points of an output's rows, for its followers.
struct PointTrace {
  std::span<const std::uint32_t> numbers;  ///< of each row; PointBuffer::kPadding: none
  std::uint64_t points = 0;                ///< number of points in the whole cloud
  std::span<const std::uint32_t> read;     ///< ascending numbers of the decoded points; empty: all
};

/// The points that the first sample() of a chain takes before decoding. They depend on the cloud's header and the
/// draws.
class FirstDraw {
 public:
  FirstDraw(const step::Sample& sample, std::uint32_t transform) : sample_(sample), transform_(transform) {}
  /// Returns whether a sample() can be drawn before coordinates are known. fps can, for clouds in that order.
  static bool possible(const step::Sample& sample);
  /// Sets `numbers`, ascending. Returns false if the cloud must be decoded first (fps of a cloud in another order).
  bool draw(const CloudHeader& cloud, const SampleContext& sample, std::vector<std::uint32_t>& numbers) const;
  const step::Sample& step() const { return sample_; }
  Random draws(const SampleContext& sample) const;       ///< of the step itself
  Random fill_draws(const SampleContext& sample) const;  ///< of fill_up() after it

 private:
  step::Sample sample_;
  std::uint32_t transform_;
};

/// Returns the first of the adjacent columns nx, ny, nz of points with these attributes, or 0.
std::size_t normals_column(std::span<const std::string> attributes);

struct PointsPlan {
  enum class Source : std::uint8_t { cloud, array, bare };
  Source source = Source::cloud;
  std::int64_t bare_columns = 0;  ///< for bare: number of float32 per point
  std::vector<std::string> attributes;
  std::size_t columns = 3;
  std::size_t normals = 0;  ///< first of their columns, or 0
  std::optional<FirstDraw> first;
  std::optional<std::int64_t> surface;  ///< number of points to draw from a mesh
  std::uint32_t surface_transform = 0;
  struct PlannedStep {
    Step step;
    std::uint32_t transform;
  };
  std::vector<PlannedStep> steps;  ///< those after `first`
  bool channels_first = false;
  bool makes_points = false;  ///< rows are not stored points but voxel centroids or surface samples
  std::int64_t rows = 0;      ///< 0: ragged
  DType dtype = DType::f32;
  std::shared_ptr<const Codec> codec = nullptr;
};

class PointsProgram final : public OutputProgram {
 public:
  PointsProgram(Output output, PointsPlan plan) : OutputProgram(std::move(output)), plan_(std::move(plan)) {}
  bool select(const FieldHeader& field, const SampleContext& sample, std::vector<ByteRange>& ranges) const override;
  std::unique_ptr<OutputRunner> runner() const override;
  Outcomes explain(const Layout& stored, const SampleContext& sample) const override;
  const PointsProgram* points() const override { return this; }
  bool traces_items() const override { return true; }
  const PointsPlan& plan() const { return plan_; }

 private:
  PointsPlan plan_;
};

}  // namespace penstock
