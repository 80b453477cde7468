// Decodes JPEGs on an NVIDIA GPU with nvJPEG, which is loaded on first use. No part of penstock requires it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <device/cuda/library_facts.hpp>
#include <device/device.hpp>
#include <device/jpeg_decoder.hpp>

namespace penstock {

/// Searches for the file named by PENSTOCK_NVJPEG, for one that the program has already loaded, for one in the
/// nvidia-nvjpeg wheel next to penstock's, and in the system's library paths. Runs once per process. Never fails, and
/// creates no context.
LibraryFacts nvjpeg_facts();

/// The engine that decodes JPEGs.
enum class JpegEngine : std::uint8_t {
  automatic,  ///< the GPU's JPEG engine if it has one (A100, H100, H200, ...), otherwise its multiprocessors
  hardware,
  cuda,
};

/// Pixels differ from those of the CPU decoder: the JPEG standard allows different inverse DCTs and chroma upsampling.
class NvJpegDecoder final : public JpegDecoder {
 public:
  /// Throws Error: unsupported, if the device is not a CUDA device, if nvJPEG is missing, or for JpegEngine::hardware
  /// on a GPU without that engine. Throws Error: resource, if nvJPEG or the driver refuses.
  explicit NvJpegDecoder(std::shared_ptr<Device> device, JpegEngine engine = JpegEngine::automatic);
  ~NvJpegDecoder() override;
  NvJpegDecoder(NvJpegDecoder&&) = delete;

  JpegEngine engine() const;  ///< the engine in use
  std::string description() const override;

  /// Returns nothing for other data, broken headers, four color components, and kinds that the engine does not support
  /// (hardware: progressive JPEGs).
  std::optional<JpegSize> size(std::span<const std::byte> jpeg) override;

  /// Blocks this thread until the previous batch is done. The hardware engine does not wait for earlier work of the
  /// stream, so with it the call also waits for that work. Bytes in page-locked memory reach the device faster.
  void decode(std::span<const JpegOnDevice> images, StreamHandle stream) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
