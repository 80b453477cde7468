#include <algorithm>
#include <array>
#include <optional>

#include <base/printable.hpp>
#include <bench/measure/task.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 6> kNames{"image-train", "image-eval", "image-small", "points", "array", "raw"};

// Statistics of ImageNet's training images. Source: torchvision's reference training.
const std::vector<float> kMean{0.485F, 0.456F, 0.406F}, kDeviation{0.229F, 0.224F, 0.225F};

constexpr std::int64_t kCloudPoints = 4096;

struct FirstImage {
  std::string field;
  std::int64_t height, width;
};

// The form in which `pack --decode` stores images.
bool is_decoded_image(const Layout& layout) {
  return layout.dtype == DType::u8 && layout.shape.size() == 3 && layout.shape[2] == 3;
}

std::optional<FirstImage> image_in(const Dataset& dataset, std::uint32_t field) {
  std::vector<Piece> pieces;
  const std::uint64_t tries = std::min<std::uint64_t>(dataset.size(), 16);
  for (std::uint64_t sample = 0; sample < tries; ++sample) {
    if (!dataset.locate(sample, field, pieces)) continue;
    const FieldSchema& schema = dataset.fields()[field];
    try {
      const std::vector<std::byte> bytes = read_field(dataset, sample, field);
      const Layout layout = codec_for(schema, bytes).decoder(schema)->peek({&schema, bytes});
      if (!layout.image && !is_decoded_image(layout)) return {};
      return FirstImage{schema.name, layout.shape.at(0), layout.shape.at(1)};
    } catch (const Error& error) {
      if (!error.is_data_fault()) throw;  // an invalid first image does not change the task
    }
  }
  return {};
}

std::optional<FirstImage> first_image(const Dataset& dataset) {
  for (std::uint32_t field = 0; field < dataset.fields().size(); ++field)
    if (auto image = image_in(dataset, field)) return image;
  return {};
}

std::optional<std::string> first_cloud(const Dataset& dataset) {
  for (const FieldSchema& field : dataset.fields()) {
    if (cloud_codec_named(field.codec) != nullptr) return field.name;
  }
  return {};
}

void add_label(const Dataset& dataset, Task& task) {
  if (dataset.field("cls")) task.fields.emplace_back("cls", label());
}

bool has_array(const Dataset& dataset) {
  return std::ranges::any_of(dataset.fields(), [](const FieldSchema& field) { return field.fixed; });
}

Task image_task(std::string_view name, const Dataset& dataset, const FirstImage& image) {
  Task task{.name = std::string(name), .reason = {}, .fields = {}, .shuffle = name != "image-eval"};
  const Chain scaled = image::normalize(kMean, kDeviation);
  if (name == "image-train")
    task.fields.emplace_back(image.field, image::random_resized_crop(224) | image::random_horizontal_flip() | scaled);
  else if (name == "image-eval")
    task.fields.emplace_back(image.field, image::resize(256) | image::center_crop(224) | scaled);
  else
    task.fields.emplace_back(image.field, scaled);
  add_label(dataset, task);
  return task;
}

// The input of PointNet.
Task points_task(const Dataset& dataset, const std::string& field) {
  Task task{.name = "points", .reason = {}, .fields = {}};
  task.fields.emplace_back(
      field, points::sample(kCloudPoints) | points::center() | points::unit_sphere() | points::channels_first());
  add_label(dataset, task);
  return task;
}

}  // namespace

std::span<const std::string_view> task_names() {
  return kNames;
}

Task task_named(std::string_view name, const Dataset& dataset) {
  if (std::ranges::find(kNames, name) == kNames.end())
    throw Error::invalid_argument("there is no task " + std::string(name));
  const ErrorContext context{.dataset = dataset.path().string()};
  Task task{.name = std::string(name), .reason = {}, .fields = {}};
  if (name == "raw") {
    for (const FieldSchema& field : dataset.fields()) task.fields.emplace_back(field.name, raw());
  } else if (name == "points") {
    const auto cloud = first_cloud(dataset);
    if (!cloud) throw Error::invalid_argument("task points: no field holds point clouds", context);
    task = points_task(dataset, *cloud);
  } else if (name == "array") {
    for (const FieldSchema& field : dataset.fields())
      if (field.fixed && !extension_traits(field.name).label) task.fields.emplace_back(field.name, array::decode());
    if (task.fields.empty()) throw Error::invalid_argument("task array: no field has a fixed shape", context);
    add_label(dataset, task);
  } else {
    const auto image = first_image(dataset);
    if (!image) throw Error::invalid_argument("task " + task.name + ": no field holds images", context);
    task = image_task(name, dataset, *image);
  }
  task.reason = "asked for";
  return task;
}

void keep_common_fields(Task& task, const Mixture& mixture) {
  const bool about_one = task.name != "raw" && task.name != "array";  // these tasks are about their first field
  std::vector<FieldChain> kept;
  std::string left_out;
  for (FieldChain& chain : task.fields) {
    const auto lacking = std::ranges::find_if(mixture.sources(), [&](const MixtureSource& source) {
      return !mixture.never_comes(source) && !source.dataset.field(chain.first);
    });
    if (lacking == mixture.sources().end()) {
      kept.push_back(std::move(chain));
      continue;
    }
    if (about_one && kept.empty())
      throw Error::invalid_argument("task " + task.name + ": source " + double_quoted(lacking->name) +
                                        " of the mixture has no field " + double_quoted(chain.first) +
                                        "; --task raw uses only the fields that all sources have",
                                    {.dataset = lacking->dataset.path().string()});
    left_out += "; " + chain.first + " is left out: source " + double_quoted(lacking->name) + " has none";
  }
  if (kept.empty()) throw Error::invalid_argument("the sources of the mixture have no field in common");
  task.fields = std::move(kept);
  task.reason += left_out;
}

Task guess_task(const Dataset& dataset) {
  if (const auto image = first_image(dataset)) {
    Task task =
        image_task(std::max(image->width, image->height) <= 64 ? "image-small" : "image-train", dataset, *image);
    task.reason = "field " + image->field + " holds images, the first of " + std::to_string(image->width) + " x " +
                  std::to_string(image->height);
    return task;
  }
  if (const auto cloud = first_cloud(dataset)) {
    Task task = points_task(dataset, *cloud);
    task.reason = "field " + *cloud + " holds point clouds";
    return task;
  }
  Task task = task_named(has_array(dataset) ? "array" : "raw", dataset);
  task.reason = task.name == "array" ? "fields of fixed shape" : "no field holds images or arrays of fixed shape";
  return task;
}

}  // namespace penstock
