// The interface of programs for one output. Each kind of output (image, mask, array, ...) implements these two classes.
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
class PointsProgram;  // transforms/program/points_program.hpp

/// The items of a stored value that a row delivers, for its followers.
struct ItemTrace {
  std::uint64_t stored = 0;                  ///< number of items in the stored value
  std::uint64_t delivered = 0;               ///< number of items in the row, without padding
  bool all = true;                           ///< all stored items are delivered
  std::span<const std::uint32_t> kept = {};  ///< ascending numbers of the delivered items, if not all
};

/// Splits the time of a fill. Each lap is added to one account.
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
  const Placement* leader;   ///< of the followed image, for this sample; null if the output follows none
  const PointTrace* points;  ///< of followed points, or null
  const ItemTrace* items;    ///< of followed items, or null
  std::span<std::byte> slot;
  FillWatch& watch;  ///< started; the runner adds laps to its times
};

/// A worker's state for one output: decoders and scratch memory, reused from sample to sample.
class OutputRunner {
 public:
  virtual ~OutputRunner() = default;
  /// Returns the number of items of a ragged row. `slot` is still empty. fill() of the same row follows.
  virtual std::uint64_t items(const SlotRow&) { return 1; }
  virtual void fill(const SlotRow& row) = 0;
  /// Like Decoder::share(). Called once, before all other functions.
  virtual void share(Parallel*) {}
  /// Implements SlotFiller::geometry() for an output with has_geometry. `slot` is empty.
  virtual std::optional<Geometry> geometry(const SlotRow&) { return std::nullopt; }
  virtual const Placement* placement() const { return nullptr; }
  virtual const PointTrace* trace() const { return nullptr; }
  /// Returns the trace of the last filled row. Null if rows have no items, and before the first row.
  virtual const ItemTrace* items_trace() const { return nullptr; }
  /// Returns the shape of the row in the last call of items(), for an output whose rows have separate shapes.
  virtual std::span<const std::int64_t> row_shape() const { return {}; }
  /// Replaces items() and fill() for a sample without the field: writes a row without items. `slot` is empty if the
  /// output is ragged.
  virtual void leave_empty(std::span<std::byte> /*slot*/) {}
};

/// A compiled output. Immutable; must outlive its runners.
class OutputProgram {
 public:
  explicit OutputProgram(Output output) : output_(std::move(output)) {}
  virtual ~OutputProgram() = default;
  const Output& output() const { return output_; }
  virtual bool select(const FieldHeader&, const SampleContext&, std::vector<ByteRange>&) const { return false; }
  virtual std::unique_ptr<OutputRunner> runner() const = 0;
  /// Returns the layout with which the chain reads a stored value, if it differs from the codec's, else nothing.
  virtual std::optional<Layout> read_as(const FieldBytes&) const { return std::nullopt; }
  /// Returns whether stored bytes are delivered without decoding.
  virtual bool takes_bytes() const { return false; }
  /// Returns the decisions of its steps for a sample whose stored value has this layout; empty if there are none.
  virtual Outcomes explain(const Layout&, const SampleContext&) const { return {}; }
  /// Returns the size of the output's images, which others may follow(), or nothing for other kinds of output.
  virtual std::optional<Size> image_size() const { return std::nullopt; }
  /// Returns whether rows consist of items, which others may follow(). Its runners then have an items_trace().
  virtual bool traces_items() const { return false; }
  /// Returns this if the output's rows are points, which others may follow(), else null.
  virtual const PointsProgram* points() const { return nullptr; }

 private:
  Output output_;
};

/// Returns the `transform` of Random for step number `step` of an output's chain: the first 32 bits of FNV-1a over the
/// output's name, a zero byte and the number. The result does not depend on other outputs.
std::uint32_t transform_id(std::string_view output, std::size_t step);

}  // namespace penstock
