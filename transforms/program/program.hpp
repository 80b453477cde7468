// Compiles all chains of a loader once against a dataset's fields, and keeps the per-worker state that runs them.
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

/// Immutable; shared by all workers.
class Program {
 public:
  /// Without `chains`, every field is decoded by its codec and must have one shape.
  /// Throws Error: invalid_argument, naming output and step: unknown field, steps that do not fit the codec or each
  /// other, a follow() without its leader or in a circle; shape, when an output's shape is not the same for all samples
  /// and nothing in the chain makes it so.
  /// `first_place`: of each chain's first step, where the chains are the rest of longer ones; draws go by places.
  Program(std::span<const FieldChain> chains, const FieldCatalog& catalog, std::size_t first_place = 0);
  ~Program();
  Program(Program&&) noexcept;

  std::span<const Output> outputs() const;
  /// Output numbers in the order they must be filled: a followed output comes before its followers.
  std::span<const std::uint32_t> order() const;
  /// The output that an output goes along with: the image or points at the end of its follow(), or the items that it
  /// names; nothing where it follows none.
  std::optional<std::uint32_t> leader(std::uint32_t output) const;
  /// Windows of its outputs: see Output::window.
  std::uint32_t windows() const;
  /// Samples that a row is made of at most: its own, where some output is no window's, and the steps of all windows.
  std::uint64_t samples_of_row() const;
  /// Byte ranges of the field that output needs for this sample; false when it needs the whole field.
  bool select(std::uint32_t output, const FieldHeader& field, const SampleContext& sample,
              std::vector<ByteRange>& ranges) const;
  /// What the output's chain does to a sample, whose whole field this is: for people, not for speed.
  /// Throws Error: corrupt, unsupported, shape, where fill() would.
  OutputAccount explain(std::uint32_t output, const FieldBytes& field, const SampleContext& sample) const;
  /// Names and versions of codecs and transforms in use: part of a loader's state.
  std::string version() const;

 private:
  friend class SlotFiller;
  struct State;
  std::unique_ptr<State> state_;
};

/// Decodes and transforms into slots; one per worker thread.
class SlotFiller {
 public:
  /// `parallel`: threads that may help with a large value (see Decoder::share); null: there are none. Both must outlive
  /// the filler.
  explicit SlotFiller(const Program& program, Parallel* parallel = nullptr);
  ~SlotFiller();
  SlotFiller(SlotFiller&&) noexcept;

  /// Starts a sample; its outputs are then filled in Program::order().
  void begin(const SampleContext& sample);
  /// Items in the sample's row of a ragged output. Throws Error: corrupt, unsupported.
  std::uint64_t items(std::uint32_t output, const FieldBytes& field);
  /// Writes the sample's row: row_bytes() bytes, or items() * row_bytes() for a ragged output; of a window's
  /// output step_bytes(), one step. The whole slot is
  /// written or an Error thrown: corrupt, unsupported, shape (a row of another shape than the output's).
  void fill(std::uint32_t output, const FieldBytes& field, std::span<std::byte> slot);

  /// In the place of items() and fill(), for a sample that lacks the field of an output that may_be_missing: a row
  /// without items. `slot` is empty where the output is ragged.
  void leave_empty(std::uint32_t output, std::span<std::byte> slot);
  /// Of an output with own_dimensions, behind items(): the sizes of that row.
  std::span<const std::int64_t> row_shape(std::uint32_t output) const;

  /// In the place of fill(), for whoever decodes a JPEG elsewhere: what becomes of its pixels, which are RGB; outputs
  /// that follow go on as after fill(). Nothing, and nothing is done, where fill() must: for values that are no JPEG or
  /// not whole, that an orientation turns, and whose steps are more than crops, resizes and flips. Throws as fill().
  std::optional<Geometry> geometry(std::uint32_t output, const FieldBytes& field);

  FillTimes times() const;                          ///< so far, for the stage table
  std::span<const FillTimes> output_times() const;  ///< the same by output

  /// Of an image output: where the pixels of the sample it was last filled with come from; null for other outputs.
  const Placement* placement(std::uint32_t output) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
