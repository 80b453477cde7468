// The interface by which a device takes over a part of the workers' work: reading rows from their files and decoding
// images. loader/device/ implements it. Slabs, fetches and workers include only this header.
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

/// The device's part of the batch in one slab. The slab owns it. Only one thread at a time may handle a row.
class Offload {
 public:
  virtual ~Offload() = default;
  /// Leaves nothing of the row to the device. Called before the row is filled and when the row is abandoned.
  virtual void clear_row(std::uint32_t row) noexcept = 0;
  /// Returns true if the device will read `stored`, the row in its stored form, into the row's place.
  virtual bool take_stored(std::uint32_t output, std::uint32_t row, const Extent& stored) = 0;
  /// Returns true if the device will decode this value into the row. `filler` has begun with the sample. Throws what
  /// `filler` throws.
  virtual bool take_value(std::uint32_t output, std::uint32_t row, const SampleContext& sample, const FieldBytes& value,
                          SlotFiller& filler) = 0;
  /// Ends a batch of `rows` rows after the last one is filled. Returns by how many bytes this object's memory grew.
  /// Throws Error: resource, if memory runs out.
  virtual std::uint64_t seal(std::uint32_t rows) = 0;
  /// Stored bytes of the first `rows` rows that the device reads.
  virtual std::uint64_t bytes_to_read(std::uint32_t rows) const = 0;
};

/// A device's part in all batches, besides the copies that it receives.
struct DeviceShare {
  bool row_table = false;                ///< its passes need the rows' samples and the offsets of ragged rows
  std::vector<std::uint8_t> reads = {};  ///< by output: 1 if the device reads its rows from their files; empty: none
  /// Makes the Offload of one slab with `batch_size` rows. Its memory is page-locked like the slab's. Empty: slabs
  /// have none.
  std::function<std::unique_ptr<Offload>(std::uint32_t batch_size, PagePinning& pinning)> offload = {};

  bool reads_output(std::size_t output) const { return !reads.empty() && reads[output] != 0; }
};

}  // namespace penstock
