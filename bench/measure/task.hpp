// Defines named presets of chains, so that a bench of any dataset needs no program.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/chain.hpp>
#include <penstock/dataset.hpp>
#include <penstock/mixture.hpp>
#include <penstock/order.hpp>

namespace penstock {

struct Task {
  std::string name;
  std::string reason;  ///< reason for the choice: "asked for", "field jpg holds images of 500 x 375"
  std::vector<FieldChain> fields;
  bool shuffle = true;
  std::shared_ptr<const Draws> draws = {};  ///< null: each sample once an epoch
  /// the mixture whose samples the dataset holds; null: it is a single dataset
  std::shared_ptr<const Mixture> mixture = {};
  std::filesystem::path mixture_file = {};            ///< file from which the mixture was read
  std::shared_ptr<const LengthBuckets> buckets = {};  ///< LoaderOptions::batching
};

/// image-train  random_resized_crop(224) | random_horizontal_flip | normalize(ImageNet), and the label
/// image-eval   resize(256) | center_crop(224) | normalize, and the label, in order
/// image-small  normalize, and the label: images that all have one size (icons)
/// points       4,096 random points, centred, in the unit sphere, channels first, and the label: point clouds
/// array        every field of fixed shape, decoded, and the label
/// raw          every field as its stored bytes
std::span<const std::string_view> task_names();

/// Throws Error: invalid_argument, for an unknown name, or a dataset without the fields that the task needs.
Task task_named(std::string_view name, const Dataset& dataset);
/// Guesses a task. If there are images: image-small if the first one has at most 64 pixels a side, else image-train.
/// Otherwise points if a field holds clouds; array if a field has a fixed shape; else raw.
Task guess_task(const Dataset& dataset);
/// For a mixture: removes the fields that some source lacks, and says so in `reason`. Throws Error: invalid_argument,
/// naming source and field, if no field is left, or if a removed one is essential for the task.
void keep_common_fields(Task& task, const Mixture& mixture);

}  // namespace penstock
