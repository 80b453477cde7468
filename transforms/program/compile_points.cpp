#include <algorithm>

#include <formats/encodings.hpp>
#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/steps/point_step.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>
#include <transforms/program/points_program.hpp>

namespace penstock {
namespace {

constexpr std::int64_t kAxes = 3;
constexpr std::int64_t kKittiColumns = 4;  ///< x, y, z, reflectance

bool is_bare(const FieldSchema& schema) {
  const std::string_view name = schema.name;
  return schema.codec.empty() && extension_traits(name.substr(name.rfind('.') + 1)).bare_points;
}

class PointsCompiler {
 public:
  explicit PointsCompiler(const OutputRequest& request) : request_(request) {
    if (const auto* decode = find_step<step::CloudDecode>(request.chain)) {
      plan_.attributes = decode->attributes;
      plan_.bare_columns = decode->columns;
    }
    plan_.codec = request.own_codec();
  }

  std::unique_ptr<OutputProgram> run() {
    find_source();
    plan_.normals = normals_column(plan_.attributes);
    for (std::size_t i = 0; i < request_.chain.steps.size(); ++i) add(request_.chain.steps[i], i);
    Shape shape{static_cast<std::int64_t>(plan_.columns)};
    plan_.rows = ragged_ ? 0 : rows_;
    if (plan_.rows != 0) shape.insert(plan_.channels_first ? shape.end() : shape.begin(), plan_.rows);
    if (plan_.rows == 0 && plan_.channels_first) {
      throw request_.misuse(
          "points.channels_first() requires equally many points in each row; put points.sample(k) or points.pad(k) "
          "before it");
    }
    Output output = request_.output(plan_.dtype, std::move(shape));
    output.ragged = plan_.rows == 0;
    output.partial = plan_.first.has_value() && plan_.source == PointsPlan::Source::cloud && plan_.codec == nullptr;
    output.scattered = output.partial && order_ == PointOrder::stored;
    return std::make_unique<PointsProgram>(std::move(output), std::move(plan_));
  }

 private:
  void find_source() {
    const FieldSchema& schema = request_.schema();
    if (plan_.codec == nullptr && is_bare(schema)) {
      plan_.source = PointsPlan::Source::bare;
      if (plan_.bare_columns == 0) plan_.bare_columns = kKittiColumns;
      use_columns(plan_.bare_columns);
      return;
    }
    if (plan_.bare_columns != 0)
      throw request_.misuse("points.decode(columns=...) requires a .bin field of bare float32");
    const FirstValue first = request_.probe({.attributes = plan_.attributes});
    if (!first.layout) throw request_.shape("no sample has this field, so its shape is unknown");
    if (first.layout->cloud) {
      plan_.columns = static_cast<std::size_t>(kAxes) + plan_.attributes.size();
      ragged_ = true;
      check_attributes(*first.cloud);
      order_ = first.cloud->order;
      is_mesh_ = plan_.codec == nullptr && codec_traits(first.codec->name()).mesh;
      return;
    }
    plan_.source = PointsPlan::Source::array;
    const Shape& shape = first.layout->shape;
    if (first.layout->image || shape.size() != 2 || shape[1] < kAxes) {
      throw request_.misuse("field \"" + schema.name + "\" is " + array_text(first.layout->dtype, shape) +
                            ", but points have the shape (N, 3 or more)");
    }
    use_columns(shape[1]);
    ragged_ = false;
    rows_ = shape[0];
    if (rows_ == 0) ragged_ = true;
  }

  void use_columns(std::int64_t columns) {
    if (columns < kAxes || columns > 1024) throw request_.misuse("points must have 3 to 1,024 columns");
    if (!plan_.attributes.empty()) {
      throw request_.misuse(
          "points.decode(attributes) requires clouds; arrays of points are delivered with all columns");
    }
    plan_.columns = static_cast<std::size_t>(columns);
    ragged_ = true;
  }

  void check_attributes(const CloudHeader& cloud) const {
    try {
      for (const std::string& wanted : plan_.attributes) attribute_number(cloud, wanted);
    } catch (const Error& error) {
      throw request_.misuse(error.cause());
    }
  }

  void add(const Step& step, std::size_t number) {
    if (step.is<step::OwnDecode>()) return;
    if (step.is<step::CloudDecode>()) {
      if (number != 0) throw request_.misuse("points.decode() must come first");
      return;
    }
    if (ended_) throw request_.misuse(to_string(step) + " must come before " + *ended_);
    if (const auto* cast = step.as<step::Cast>()) {
      set_dtype(cast->dtype);
    } else if (step.is<step::ChannelsFirst>()) {
      if (plan_.channels_first) throw request_.misuse("points.channels_first() is given twice");
      plan_.channels_first = true;
    } else if (plan_.channels_first || plan_.dtype != DType::f32) {
      throw request_.misuse(to_string(step) + " must come before points.channels_first() and points.cast()");
    } else if (const auto* surface = step.as<step::Surface>()) {
      sample_surface(*surface, number);
    } else if (step.table().points() != nullptr) {
      add_point_step(step, number);
    } else {
      throw request_.misuse(to_string(step) + " cannot be applied to points");
    }
  }

  void sample_surface(const step::Surface& surface, std::size_t number) {
    const bool first = number == 0 || (number == 1 && find_step<step::CloudDecode>(request_.chain) != nullptr);
    if (!first) throw request_.misuse("points.surface() must come first");
    if (!is_mesh_)
      throw request_.misuse("points.surface() requires meshes, but field \"" + request_.schema().name + "\" has none");
    if (!plan_.attributes.empty()) throw request_.misuse("points.surface() cannot be combined with attributes");
    plan_.surface = surface.points;
    plan_.surface_transform = request_.transform_id(number);
    plan_.makes_points = true;
    rows_ = surface.points;
    ragged_ = false;
  }

  void set_dtype(DType dtype) {
    const bool floats = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64;
    if (!floats) throw request_.misuse("points can be cast to float32, float16, bfloat16 or float64");
    plan_.dtype = dtype;
    if (dtype == DType::f32) ended_ = "points.cast(float32)";
  }

  void add_point_step(const Step& step, std::size_t number) {
    const std::uint32_t transform = request_.transform_id(number);
    const auto* sample = step.as<step::Sample>();
    if (sample != nullptr) count_rows(*sample);
    if (const auto* pad = step.as<step::Pad>()) {
      rows_ = pad->points;
      ragged_ = false;
    }
    if (step.is<step::DropNonfinite>()) ragged_ = true;
    if (sample != nullptr && plan_.steps.empty() && !plan_.first && !plan_.surface && FirstDraw::possible(*sample)) {
      plan_.first.emplace(*sample, transform);
    } else {
      plan_.steps.push_back({step, transform});
    }
  }

  void count_rows(const step::Sample& sample) {
    plan_.makes_points |= sample.method == SampleMethod::voxel && sample.voxel == VoxelPoint::centroid;
    ragged_ = sample.points == 0 || sample.if_fewer == FewPoints::ragged;
    rows_ = sample.points;
  }

  const OutputRequest& request_;
  PointsPlan plan_;
  PointOrder order_ = PointOrder::stored;  ///< of the first value
  std::int64_t rows_ = 0;
  bool is_mesh_ = false;
  bool ragged_ = true;
  std::optional<std::string> ended_;
};

}  // namespace

std::size_t normals_column(std::span<const std::string> attributes) {
  std::size_t found = 0;
  for (std::size_t i = 0; i + 2 < attributes.size(); ++i) {
    if (attributes[i] == "nx" && attributes[i + 1] == "ny" && attributes[i + 2] == "nz") found = 3 + i;
  }
  return found;
}

std::unique_ptr<OutputProgram> compile_points(const OutputRequest& request) {
  return PointsCompiler(request).run();
}

}  // namespace penstock
