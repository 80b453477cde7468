// Decides which outputs' JPEGs a device helps to decode, and explains the others:
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

/// The decoder of a HostDevice. Checks all bytes in the calling thread and writes pixels in the stream's order.
class HostJpegDecoder final : public JpegDecoder {
 public:
  explicit HostJpegDecoder(std::shared_ptr<HostDevice> device);

  std::string description() const override { return "the processor's decoder"; }
  std::optional<JpegSize> size(std::span<const std::byte> jpeg) override;
  void decode(std::span<const JpegOnDevice> images, StreamHandle stream) override;

 private:
  const std::shared_ptr<HostDevice> device_;
  const FieldSchema schema_;
  const std::unique_ptr<Decoder> decoder_;  // only for decode()
  std::mutex mutex_;                        // guards headers_
  const std::unique_ptr<Decoder> headers_;
};

struct GpuJpeg {
  std::shared_ptr<DeviceJpegs> jpegs = {};  ///< null: the host decodes all images
  std::vector<std::uint8_t> outputs = {};   ///< 1 for outputs of which the device decodes a share; empty: none
  std::string said = {};                    ///< for the stats; empty: the option is off
};

/// Selects outputs of the workers' program that are images copied as pixels, with chains that the device can run. If
/// there are none, or if the device has no decoder, returns none and the reason.
GpuJpeg gpu_jpeg_of(const LoaderOptions& options, std::span<const Output> outputs);

}  // namespace penstock
