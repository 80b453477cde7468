// Stores the device's part of a batch: extents to read, and JPEGs with the weights for their crops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <formats/extent.hpp>
#include <loader/batch/device_share.hpp>
#include <loader/batch/page_pinning.hpp>
#include <loader/batch/slab.hpp>
#include <loader/device/gpu_direct.hpp>
#include <loader/device/gpu_jpeg.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

class DeviceOffload final : public Offload {
 public:
  /// Both must outlive the filling of batches.
  DeviceOffload(const GpuDirect& direct, const GpuJpeg& jpeg, std::uint32_t batch_size, PagePinning& pinning);
  /// Returns the offload of a slab; null if no work is left to a device.
  static const DeviceOffload* of(const Slab& slab) { return static_cast<const DeviceOffload*>(slab.offload()); }

  void clear_row(std::uint32_t row) noexcept override;
  bool take_stored(std::uint32_t output, std::uint32_t row, const Extent& stored) override;
  bool take_value(std::uint32_t output, std::uint32_t row, const SampleContext& sample, const FieldBytes& value,
                  SlotFiller& filler) override;
  std::uint64_t seal(std::uint32_t rows) override;
  std::uint64_t bytes_to_read(std::uint32_t rows) const override;

  /// By row, for an output that the device reads. If the length is 0, the row is in its slot.
  std::span<const Extent> extents(std::uint32_t output) const { return extents_[output]; }
  /// By row, for an output that the device decodes; empty for other outputs. If a row's JPEG is not in the slab, the
  /// row is in its slot.
  std::span<const JpegRow> jpegs(std::uint32_t output) const { return jpegs_[output]; }
  std::span<const std::byte> jpeg_tables() const { return jpeg_memory_.first(tables_bytes_); }  ///< of all JPEGs

 private:
  const GpuDirect& direct_;
  const GpuJpeg& jpeg_;
  PagePinning& pinning_;
  std::vector<std::vector<Extent>> extents_;  // by output
  std::vector<std::vector<JpegRow>> jpegs_;   // by output
  PinnedMemory jpeg_memory_;                  // of a batch: tables, then JPEGs
  std::uint64_t tables_bytes_ = 0;
};

/// Returns the function for DeviceShare::offload. Both arguments must outlive the filling of batches. Empty if the
/// device takes over no work.
std::function<std::unique_ptr<Offload>(std::uint32_t, PagePinning&)> offloads(const GpuDirect& direct,
                                                                              const GpuJpeg& jpeg);

}  // namespace penstock
