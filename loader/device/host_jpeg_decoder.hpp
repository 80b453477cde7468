// Decodes JPEGs for a device that is a processor, with the loader's own decoder.
#pragma once

#include <memory>
#include <mutex>

#include <penstock/device/host/host_device.hpp>
#include <penstock/device/jpeg_decoder.hpp>
#include <penstock/transforms/codec.hpp>

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

}  // namespace penstock
