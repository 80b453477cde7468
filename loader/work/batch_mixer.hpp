// Mixes the rows of a batch before it is sealed: LoaderOptions::mix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <loader/batch/slab.hpp>
#include <penstock/mix.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

struct LoaderOptions;

/// Immutable; shared by all workers. Each valid row is mixed with the previous valid row. Padding and invalid rows
/// are left unchanged. All draws are functions of seed, epoch and the position of the batch's first row.
class BatchMixer {
 public:
  /// Throws Error: invalid_argument, for mixes with different numbers of classes, and for outputs that cannot be
  /// mixed. There are four such cases: no output is an image or a label, boxes or masks follow an image, an image for
  /// mixup is uint8, or images for cutmix have different sizes.
  BatchMixer(std::vector<Mix> mixes, std::span<const Output> outputs);
  bool empty() const { return mixes_.empty(); }
  /// Called after the last row was written. `scratch` belongs to the worker. Sets slab.mix.
  void run(Slab& slab, std::uint64_t seed, std::uint64_t position, std::vector<std::byte>& scratch) const;

 private:
  void mix(Slab& slab, std::uint32_t output, const MixDraw& draw, std::span<const std::uint32_t> rows,
           std::vector<std::byte>& scratch) const;

  std::vector<Mix> mixes_;
  std::vector<Output> outputs_;
  Size image_{};
};

/// Sets the number of classes that the mixes need on the labels among the outputs. Makes the default outputs of
/// fields explicit. Throws Error: invalid_argument.
void ask_for_classes(LoaderOptions& options, std::span<const FieldSchema> fields);

/// Returns the row that has the share 1 - lambda in `row` of a mixed batch.
std::uint32_t partner_of(std::span<const std::uint8_t> valid, std::uint32_t row);

/// Returns "; mix: mixup(0.2, num_classes=10), cutmix(1, num_classes=10)", which is part of a state's transforms.
/// Empty without mixes.
std::string version_of(std::span<const Mix> mixes);
/// Returns the mixes in a state's transforms.
std::vector<Mix> mixes_of(std::string_view version);

}  // namespace penstock
