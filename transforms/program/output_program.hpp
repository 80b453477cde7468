// The interface of programs for one output: each kind of output (image, mask, array, ...) implements these two classes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <penstock/account.hpp>
#include <penstock/codec.hpp>
#include <transforms/image/passes/placement.hpp>
#include <transforms/output.hpp>

namespace penstock {

struct PointTrace;    // transforms/program/points_program.hpp
class PointsProgram;  // the same

/// Which items of a stored value a row delivers, for what follows it.
struct ItemTrace {
  std::uint64_t stored = 0;                  ///< items of the stored value
  std::uint64_t delivered = 0;               ///< of the row, without what pads it
  bool all = true;                           ///< delivered are all that are stored
  std::span<const std::uint32_t> kept = {};  ///< rising numbers of those delivered, where that is not all
};

/// Splits the time of a fill: each lap goes to one account.
class FillWatch {
 public:
  using Clock = std::chrono::steady_clock;
  void start() { mark_ = Clock::now(); }
  void lap(std::chrono::nanoseconds& account) {
    const Clock::time_point now = Clock::now();
    account += now - mark_;
    mark_ = now;
  }
  FillTimes times;

 private:
  Clock::time_point mark_;
};

/// One row to write.
struct SlotRow {
  const FieldBytes& field;
  const SampleContext& sample;
  const Placement* leader;   ///< of the followed image, for this sample; null when the output follows none
  const PointTrace* points;  ///< likewise of followed points
  const ItemTrace* items;    ///< likewise of followed items
  std::span<std::byte> slot;
  FillWatch& watch;  ///< started; the runner laps into its times
};

/// A worker's state for one output: decoders and scratch, reused from sample to sample.
class OutputRunner {
 public:
  virtual ~OutputRunner() = default;
  /// Of a ragged row, whose `slot` is empty yet; fill() of the same row follows.
  virtual std::uint64_t items(const SlotRow&) { return 1; }
  virtual void fill(const SlotRow& row) = 0;
  /// Called once, before all else: as Decoder::share().
  virtual void share(Parallel*) {}
  /// Of an output that is has_geometry, whose `slot` is empty: as SlotFiller::geometry().
  virtual std::optional<Geometry> geometry(const SlotRow&) { return std::nullopt; }
  virtual const Placement* placement() const { return nullptr; }
  virtual const PointTrace* trace() const { return nullptr; }
  /// Of the row that was filled last. Null where rows have no items, and before there is a row.
  virtual const ItemTrace* items_trace() const { return nullptr; }
  /// Of an output with sizes of its own: those of the row that items() was last asked of.
  virtual std::span<const std::int64_t> row_shape() const { return {}; }
  /// In the place of items() and fill(), for a sample without the field: a row without items. `slot` is empty where
  /// the output is ragged.
  virtual void leave_empty(std::span<std::byte> /*slot*/) {}
};

/// One output, compiled; immutable, and it outlives its runners.
class OutputProgram {
 public:
  explicit OutputProgram(Output output) : output_(std::move(output)) {}
  virtual ~OutputProgram() = default;
  const Output& output() const { return output_; }
  virtual bool select(const FieldHeader&, const SampleContext&, std::vector<ByteRange>&) const { return false; }
  virtual std::unique_ptr<OutputRunner> runner() const = 0;
  /// What a stored value is to the chain, where that is not what its field's codec says; nothing where it is.
  virtual std::optional<Layout> read_as(const FieldBytes&) const { return std::nullopt; }
  /// Whether stored bytes are delivered that nobody decodes.
  virtual bool takes_bytes() const { return false; }
  /// What its steps decide for a sample whose stored value has this layout; nothing where none decides anything.
  virtual Outcomes explain(const Layout&, const SampleContext&) const { return {}; }
  /// Pixels of the output's images, which others may follow(); nothing for other kinds of output.
  virtual std::optional<Size> image_size() const { return std::nullopt; }
  /// Whether rows are items, which others may follow(): then its runners have an items_trace().
  virtual bool traces_items() const { return false; }
  /// This, where the output's rows are points, which others may follow(); null for other kinds of output.
  virtual const PointsProgram* points() const { return nullptr; }

 private:
  Output output_;
};

/// The `transform` of Random for step number `step` of an output's chain: the first 32 bits of FNV-1a over the output's
/// name, a zero byte and the number. Outputs added beside it change nothing.
std::uint32_t transform_id(std::string_view output, std::size_t step);

}  // namespace penstock
