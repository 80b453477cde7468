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

/// Copies share the slab; it is recycled when the last of them is gone. The memory belongs to the loader's pool, which
/// lives on until then.
class Batch {
 public:
  Batch() = default;
  explicit Batch(std::shared_ptr<const BatchRecord> slab);

  std::uint64_t seed() const;
  std::uint64_t epoch() const;
  std::uint64_t number() const;  ///< of this rank's batches of the epoch, from its start position
  std::uint32_t size() const;    ///< rows
  std::span<const Field> fields() const;
  const Field& operator[](std::string_view name) const;  ///< throws Error: invalid_argument
  /// `__valid__`: 1 for rows that count, 0 for padding and for rows marked bad.
  std::span<const std::uint8_t> valid() const;
  /// How the rows were mixed: each with the row that counts before it. Nothing without LoaderOptions::mix.
  const std::optional<MixDraw>& mix() const;
  std::span<const std::uint64_t> samples() const;  ///< sample number of each row
  /// `__source__`: of each row the number of its source in the mixture; empty, where the loader has none.
  std::span<const std::int64_t> sources() const;
  std::span<const BadSample> bad() const;          ///< what is wrong with the rows that are marked bad, in row order
  std::span<const std::string_view> keys() const;  ///< `__key__`
  /// What keeps the memory: lives as long as the batch and whatever shares it.
  const std::shared_ptr<const BatchRecord>& slab() const { return slab_; }

  /// Where the values lie: nothing for memory of the host. Keys, samples, `__valid__` and offsets are always on the
  /// host.
  std::optional<DeviceId> device() const;
  /// Work that enters `stream` from now on finds the values, which may still be on their way; the calling thread does
  /// not wait. The stream must exist until the last copy of the batch is gone: where it is then, the memory is free
  /// again. Throws Error: resource, when the device failed. On the host: nothing to do.
  void wait(StreamHandle stream) const;
  /// For a stream that is ordered behind one that waited: only the end of the batch waits for what is in it by then.
  void record_stream(StreamHandle stream) const;
  /// Blocks this thread until the values are there. Throws as wait().
  void synchronize() const;

  /// What LoaderOptions::batch_transform made of the batch: kept by it and its copies.
  void attach(std::shared_ptr<void> made) { attached_ = std::move(made); }
  const std::shared_ptr<void>& attached() const { return attached_; }

 private:
  std::shared_ptr<const BatchRecord> slab_;
  std::shared_ptr<void> attached_;
};

}  // namespace penstock
