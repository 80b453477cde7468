// Decides which outputs' JPEGs a device helps to decode, and says why no others:
// LoaderOptions::device_options.gpu_jpeg.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <device/host/host_device.hpp>
#include <device/jpeg_decoder.hpp>
#include <loader/device/device_jpegs.hpp>
#include <penstock/codec.hpp>
#include <penstock/options.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Looks at all bytes in the calling thread, and writes pixels in the stream's order.
class HostJpegDecoder final : public JpegDecoder {
 public:
  explicit HostJpegDecoder(std::shared_ptr<HostDevice> device);

  std::string description() const override { return "the processor's decoder"; }
  std::optional<JpegSize> size(std::span<const std::byte> jpeg) override;
  void decode(std::span<const JpegOnDevice> images, StreamHandle stream) override;

 private:
  const std::shared_ptr<HostDevice> device_;
  const FieldSchema schema_;
  const std::unique_ptr<Decoder> decoder_;  // of decode() alone
  std::mutex mutex_;                        // guards headers_
  const std::unique_ptr<Decoder> headers_;
};

struct GpuJpeg {
  std::shared_ptr<DeviceJpegs> jpegs = {};  ///< null: all images are decoded on the host
  std::vector<std::uint8_t> outputs = {};   ///< 1 for those that the device shares in; empty: none
  std::string said = {};                    ///< for the stats; empty: nobody asked for it
};

/// Of `outputs`, those of the workers' program, the images that cross as pixels and to which chains do no more than the
/// device can. None, and a reason, where there are no such outputs, or the device has no decoder.
GpuJpeg gpu_jpeg_of(const LoaderOptions& options, std::span<const Output> outputs);

}  // namespace penstock
