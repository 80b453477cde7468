// Has a device decode a share of each batch's JPEGs: LoaderOptions::device_options.gpu_jpeg.
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

/// A JPEG whose bytes the device found bad. Which one, and what becomes of it, is for the host's decoder to say.
class RefusedJpeg final : public Error {
 public:
  explicit RefusedJpeg(const Error& fault) : Error(fault) {}
};

/// What is left to the device of a row: the bytes of an image, and how its pixels are resampled.
struct JpegRow {
  std::vector<std::byte> bytes;  ///< as its worker leaves it; empty: the row is in its slot
  JpegSize size{};
  ResampleTables tables;

  // Once the batch is sealed, in memory of the slab's:
  std::span<const std::byte> in_slab = {};  ///< the JPEG; empty: the row is in its slot
  std::uint64_t tables_at = 0;              ///< where its tables begin among those of the batch, in bytes
};

/// A batch's images on the device: uint8 (rows, height, width, 3).
struct ImageColumn {
  std::byte* pixels;
  std::int64_t height, width;
};

/// Decodes into memory of its own, two halves in turn, in a stream of its own, so that one half is decoded while the
/// other is resampled into a batch. Which samples are the device's is drawn for each of them, so that the same batches
/// come of the same seed, whatever is fast or slow.
class DeviceJpegs {
 public:
  /// `share` of the JPEGs, 0 to 1; `scratch_bytes` of the device for decoded images.
  DeviceJpegs(std::shared_ptr<Device> device, std::shared_ptr<JpegDecoder> decoder, double share,
              std::uint64_t scratch_bytes);
  ~DeviceJpegs();  ///< waits until nothing is decoded any more
  DeviceJpegs(DeviceJpegs&&) = delete;

  /// Leaves a sample's JPEG to the device, in `row`; false where it is not in the device's share, or not for it to
  /// decode. From any thread; throws what `filler` throws, which has begun with the sample.
  bool take(std::uint32_t output, const SampleContext& sample, const FieldBytes& jpeg, SlotFiller& filler,
            JpegRow& row) const;

  /// Enqueues what fills the column's rows whose JPEGs `rows` have in the slab's memory; `stream` is behind it.
  /// `tables` are theirs, on the device, in order of the stream. All must stay until an event of the stream behind this
  /// is done, also where it throws: RefusedJpeg; Error: resource, where the device fails.
  void decode(std::span<const JpegRow> rows, const std::byte* tables, const ImageColumn& column, StreamHandle stream);

  const JpegDecoder& decoder() const { return *decoder_; }
  std::uint64_t bytes() const { return 2 * half_bytes_; }                       ///< of the device
  std::uint64_t rows() const { return rows_.load(std::memory_order_relaxed); }  ///< decoded so far; orders nothing
  void count_refused() { refused_.fetch_add(1, std::memory_order_relaxed); }    ///< a batch that the host then did
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Half {
    DeviceMemory memory;
    std::unique_ptr<Event> decoded, used;
  };
  struct Placed {
    const JpegRow* row;
    std::uint32_t number;  ///< of the row in its batch
    std::byte* pixels;     ///< in a half
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
  std::mutex mutex_;  // guards the rest: one batch is decoded at a time
  std::size_t next_half_ = 0;
  std::vector<Placed> placed_;
  std::vector<JpegOnDevice> images_;
};

}  // namespace penstock
