// The hook by which a device takes over a part of what workers do: rows that it reads from their files itself, images
// that it decodes. loader/device/ implements it; slabs, fetches and workers know only what stands here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <formats/extent.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

class PagePinning;

/// What is left to the device of the batch in one slab, which owns this. A row is in the hands of one thread at a time.
class Offload {
 public:
  virtual ~Offload() = default;
  /// Nothing of the row is left to the device: before it is filled, or once it is given up.
  virtual void clear_row(std::uint32_t row) noexcept = 0;
  /// True: the device reads these bytes, which are the row as it is stored, into the row's place.
  virtual bool take_stored(std::uint32_t output, std::uint32_t row, const Extent& stored) = 0;
  /// True: the device makes the row of this value. `filler` has begun with the sample. Throws what `filler` throws.
  virtual bool take_value(std::uint32_t output, std::uint32_t row, const SampleContext& sample, const FieldBytes& value,
                          SlotFiller& filler) = 0;
  /// The batch has so many rows, of which the last one is filled. Returns by how many bytes the memory of this has
  /// grown. Throws Error: resource, where there is none.
  virtual std::uint64_t seal(std::uint32_t rows) = 0;
  /// Stored bytes of the batch's rows that the device reads.
  virtual std::uint64_t bytes_to_read(std::uint32_t rows) const = 0;
};

/// What a device does of all batches besides receiving copies of them.
struct DeviceShare {
  bool row_table = false;                ///< its passes want to know the rows' samples, and where ragged rows begin
  std::vector<std::uint8_t> reads = {};  ///< by output, 1 where it reads rows from their files; empty: none
  /// Makes the one of a slab for so many rows, whose memory is page-locked likewise; empty: slabs have none.
  std::function<std::unique_ptr<Offload>(std::uint32_t batch_size, PagePinning& pinning)> offload = {};

  bool reads_output(std::size_t output) const { return !reads.empty() && reads[output] != 0; }
};

}  // namespace penstock
