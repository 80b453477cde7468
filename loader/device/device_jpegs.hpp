// Lets a device decode a share of each batch's JPEGs: LoaderOptions::device_options.gpu_jpeg.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <device/jpeg_decoder.hpp>
#include <penstock/error.hpp>
#include <transforms/image/kernels/resample_tables.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// The device rejected a JPEG of a batch. The host's decoder then identifies the sample, and the error policy handles
/// it.
class RefusedJpeg final : public Error {
 public:
  explicit RefusedJpeg(const Error& fault) : Error(fault) {}
};

/// The device's part of a row: the bytes of an image, and how to resample its pixels.
struct JpegRow {
  std::vector<std::byte> bytes;  ///< as the worker left them; empty: the row is in its slot
  JpegSize size{};
  ResampleTables tables;

  // Valid once the batch is sealed, in the slab's memory:
  std::span<const std::byte> in_slab = {};  ///< the JPEG; empty: the row is in its slot
  std::uint64_t tables_at = 0;              ///< offset of its tables among those of the batch, in bytes
};

/// A batch's images on the device: uint8 (rows, height, width, 3).
struct ImageColumn {
  std::byte* pixels;
  std::int64_t height, width;
};

/// Decodes into two halves of a scratch memory, in a separate stream. While one half is decoded, the other is
/// resampled into a batch. A random draw for each sample decides whether the device decodes it. The same seed
/// therefore gives the same batches, independent of speeds.
class DeviceJpegs {
 public:
  /// `share` is the device's share of the JPEGs, 0 to 1. `scratch_bytes` is the size of the memory for decoded
  /// images.
  DeviceJpegs(std::shared_ptr<Device> device, std::shared_ptr<JpegDecoder> decoder, double share,
              std::uint64_t scratch_bytes);
  ~DeviceJpegs();  ///< waits for the end of all decoding
  DeviceJpegs(DeviceJpegs&&) = delete;

  /// Leaves a sample's JPEG to the device and describes it in `row`. Returns false if the sample is not in the
  /// device's share, or if the device cannot decode it. `filler` has begun with the sample. Thread-safe. Throws what
  /// `filler` throws.
  bool take(std::uint32_t output, const SampleContext& sample, const FieldBytes& jpeg, SlotFiller& filler,
            JpegRow& row) const;

  /// Enqueues the work that fills the column's rows whose JPEGs are in `rows`. Later work in `stream` waits for it.
  /// `tables` are the tables of these rows on the device, in the order of the stream. All arguments must stay valid
  /// until an event recorded in the stream afterwards is done, even if this throws. Throws RefusedJpeg; Error:
  /// resource, if the device fails.
  void decode(std::span<const JpegRow> rows, const std::byte* tables, const ImageColumn& column, StreamHandle stream);

  const JpegDecoder& decoder() const { return *decoder_; }
  std::uint64_t bytes() const { return 2 * half_bytes_; }                       ///< of the device's memory
  std::uint64_t rows() const { return rows_.load(std::memory_order_relaxed); }  ///< decoded so far; orders nothing
  /// Counts a batch that the host then decoded.
  void count_refused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Half {
    DeviceMemory memory;
    std::unique_ptr<Event> decoded, used;
  };
  struct Placed {
    const JpegRow* row;
    std::uint32_t number;  ///< number of the row in its batch
    std::byte* pixels;     ///< in one of the halves
  };
  void decode(std::span<const Placed> images, Half& half, const std::byte* tables, const ImageColumn& column,
              StreamHandle stream);
  void resample(std::span<const Placed> images, const std::byte* tables, const ImageColumn& column,
                StreamHandle stream);

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<JpegDecoder> decoder_;
  const double share_;
  const std::uint64_t half_bytes_;
  const std::unique_ptr<Stream> stream_;
  std::array<Half, 2> halves_;
  std::atomic<std::uint64_t> rows_{0}, refused_{0};
  std::mutex mutex_;  // guards the rest: only one batch is decoded at a time
  std::size_t next_half_ = 0;
  std::vector<Placed> placed_;
  std::vector<JpegOnDevice> images_;
};

}  // namespace penstock
