// A batch: named tensors. Its memory returns to the loader when the last copy of the batch ends.
//
//   penstock::Loader loader(penstock::open("photos"), {.transforms = {{"cls", penstock::label()}}});
//   for (const penstock::Batch& batch : loader)
//     for (const std::int64_t label : batch["cls"].as<std::int64_t>()) std::cout << label << ' ';
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <penstock/device.hpp>
#include <penstock/field.hpp>
#include <penstock/mix.hpp>

namespace penstock {

struct BatchRecord;  // loader/batch/batch_record.hpp
struct BadSample;    // penstock/stats.hpp

/// The rows of one training step. Copies share one batch buffer (slab), which returns to the loader's pool when the
/// last copy is gone. Until then its values do not change, even after the loader has ended. Fields, spans and keys are
/// valid while a copy exists. Threads may use copies of a batch at the same time.
///
/// A batch that was made by the default constructor has no rows. Call only size() on it.
class Batch {
 public:
  Batch() = default;
  explicit Batch(std::shared_ptr<const BatchRecord> slab);

  std::uint64_t seed() const;  ///< of the loader that delivered it
  std::uint64_t epoch() const;
  std::uint64_t number() const;           ///< counts this rank's batches of the epoch, from its start position
  std::uint32_t size() const;             ///< rows
  std::span<const Field> fields() const;  ///< in the order of LoaderOptions::transforms
  /// The output with that name. Throws Error: invalid_argument, if there is none.
  const Field& operator[](std::string_view name) const;
  /// `__valid__`: 1 for rows that count, 0 for padding and for invalid rows.
  std::span<const std::uint8_t> valid() const;
  /// `__present__`: 1 for rows that have the sample's value of the output. 0 for rows that LoaderOptions::missing
  /// filled or left empty, and for invalid rows. Empty if `missing` does neither for this output.
  std::span<const std::uint8_t> present(std::string_view output) const;
  /// How the rows were mixed: each row with the valid row before it. Unset without LoaderOptions::mix.
  const std::optional<MixDraw>& mix() const;
  std::span<const std::uint64_t> samples() const;  ///< sample number of each row
  /// `__source__`: for each row, the number of its source in the mixture. Empty if the loader has no mixture.
  std::span<const std::int64_t> sources() const;
  std::span<const BadSample> bad() const;          ///< describes the invalid rows, in row order
  std::span<const std::string_view> keys() const;  ///< `__key__`
  /// Owns the memory. Lives as long as the batch and everything that shares the memory.
  const std::shared_ptr<const BatchRecord>& slab() const { return slab_; }

  /// The device that holds the values; unset if they are in the host's memory. Keys, samples, `__valid__` and offsets
  /// are always on the host.
  std::optional<DeviceId> device() const;
  /// Makes later work on `stream` wait until the values have arrived on the device. The calling thread does not wait.
  /// The stream must exist until the last copy of the batch is gone: the memory is reused after the work that is on the
  /// stream then. Throws Error: resource, if the device failed. Does nothing on the host.
  void wait(StreamHandle stream) const;
  /// Declares that `stream` uses the values. For a stream whose work is ordered after another stream, for which wait()
  /// was called. The memory is reused after the work that is on `stream` when the last copy of the batch is gone.
  void record_stream(StreamHandle stream) const;
  /// Blocks this thread until the values have arrived. Throws like wait().
  void synchronize() const;

  /// Attaches a result of LoaderOptions::batch_transform. The batch and its copies keep it.
  void attach(std::shared_ptr<void> made) { attached_ = std::move(made); }
  const std::shared_ptr<void>& attached() const { return attached_; }  ///< null if nothing was attached

 private:
  std::shared_ptr<const BatchRecord> slab_;
  std::shared_ptr<void> attached_;
};

}  // namespace penstock
