// Compiles all chains of a loader once against a dataset's fields, and holds the per-worker state that runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/account.hpp>
#include <penstock/chain.hpp>
#include <penstock/codec.hpp>
#include <penstock/geometry.hpp>
#include <penstock/schema.hpp>
#include <transforms/output.hpp>

namespace penstock {

class Placement;  // transforms/image/passes/placement.hpp

/// Constant once workers share it.
class Program {
 public:
  /// Without `chains`, every field is decoded by its codec and must have a single shape. `first_place` is the index of
  /// each chain's first step if the chains are the rest of longer ones, because draws depend on it.
  ///
  /// Throws Error: invalid_argument, naming output and step, for unknown fields, for a follow() without leader or in a
  /// cycle, and for steps that do not fit the codec or each other. Throws Error: shape, if an output's shape differs
  /// between samples and no step makes it equal.
  Program(std::span<const FieldChain> chains, const FieldCatalog& catalog, std::size_t first_place = 0);
  ~Program();
  Program(Program&&) noexcept;

  /// Sets the rows of samples without an output's field; before, they are errors. Call it before workers use the
  /// program. Throws what treat_missing() in missing_rows.hpp throws.
  void treat_missing(const MissingRows& otherwise, std::span<const MissingRowsOf> by_output);

  std::span<const Output> outputs() const;
  /// Output numbers in filling order: a followed output comes before its followers.
  std::span<const std::uint32_t> order() const;
  /// The output that an output goes with: the image or points at the end of its follow(), or the items that it names.
  /// Returns nothing if it follows none.
  std::optional<std::uint32_t> leader(std::uint32_t output) const;
  /// Number of windows of its outputs; see Output::window.
  std::uint32_t windows() const;
  /// Maximum number of samples per row: its own, if some output has no window, and the steps of all windows.
  std::uint64_t samples_of_row() const;
  /// Appends the byte ranges of the field that the output needs for this sample. Returns false if it needs the whole
  /// field.
  bool select(std::uint32_t output, const FieldHeader& field, const SampleContext& sample,
              std::vector<ByteRange>& ranges) const;
  /// Explains the effect of the output's chain on a sample with this whole field. Meant for people, not fast.
  /// Throws Error: corrupt, unsupported, shape, if fill() would.
  OutputAccount explain(std::uint32_t output, const FieldBytes& field, const SampleContext& sample) const;
  /// Names and versions of codecs and transforms in use: part of a loader's state.
  std::string version() const;

 private:
  friend class SlotFiller;
  struct State;
  std::unique_ptr<State> state_;
};

/// Decodes and transforms into slots. Each worker thread needs its own filler.
class SlotFiller {
 public:
  /// `parallel` has threads that may help with a large value (see Decoder::share()), or is null. Both arguments must
  /// outlive the filler.
  explicit SlotFiller(const Program& program, Parallel* parallel = nullptr);
  ~SlotFiller();
  SlotFiller(SlotFiller&&) noexcept;

  /// Starts a sample. Its outputs must then be filled in Program::order().
  void begin(const SampleContext& sample);
  /// Number of items in the sample's row of a ragged output. Throws Error: corrupt, unsupported.
  std::uint64_t items(std::uint32_t output, const FieldBytes& field);
  /// Writes the sample's row: row_bytes() bytes, or items() * row_bytes() for a ragged output. For a window's output,
  /// writes one step, step_bytes(). Writes the whole slot, or throws Error: corrupt, unsupported, shape (a row whose
  /// shape is not the output's).
  void fill(std::uint32_t output, const FieldBytes& field, std::span<std::byte> slot);

  /// Replaces items() and fill() for a sample that lacks the field, of an output that goes_without_field(). Writes
  /// Output::fill, or a row without items. `slot` is empty if the output is ragged.
  void fill_missing(std::uint32_t output, std::span<std::byte> slot);
  /// Shape of the row after items(), for an output with own_dimensions.
  std::span<const std::int64_t> row_shape(std::uint32_t output) const;

  /// Replaces fill() for callers that decode a JPEG elsewhere. Returns the geometry of its RGB pixels; followers then
  /// work as after fill(). Returns nothing, without effect, if fill() must be called. This is so for values that are
  /// not whole JPEG files, for images that an orientation turns, and for steps other than crops, resizes and flips.
  /// Throws like fill().
  std::optional<Geometry> geometry(std::uint32_t output, const FieldBytes& field);

  FillTimes times() const;                          ///< total so far, for the stage table
  std::span<const FillTimes> output_times() const;  ///< the same per output

  /// For an image output, the source of the last filled sample's pixels; null for other outputs.
  const Placement* placement(std::uint32_t output) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
