// Decodes JPEGs on an NVIDIA GPU by nvJPEG, loaded when a program first asks for it. Nothing of penstock needs it.
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

/// Looks for the file that PENSTOCK_NVJPEG names, else for one that the program has loaded already, for one of the
/// nvidia-nvjpeg wheel beside penstock's, and where the system looks for libraries. Once for the process; never fails,
/// and begins no context.
LibraryFacts nvjpeg_facts();

/// Where the bits of a JPEG are undone.
enum class JpegEngine : std::uint8_t {
  automatic,  ///< the GPU's engine for JPEGs where it has one (A100, H100, H200, ...), else its multiprocessors
  hardware,
  cuda,
};

/// Pixels differ from those of the processor's decoder: JPEG allows for another inverse DCT, and for another upsampling
/// of colors.
class NvJpegDecoder final : public JpegDecoder {
 public:
  /// Throws Error: unsupported, for a device that is none of CUDA's, without nvJPEG, and for JpegEngine::hardware on a
  /// GPU without that engine; resource, where nvJPEG or the driver refuses.
  explicit NvJpegDecoder(std::shared_ptr<Device> device, JpegEngine engine = JpegEngine::automatic);
  ~NvJpegDecoder() override;
  NvJpegDecoder(NvJpegDecoder&&) = delete;

  JpegEngine engine() const;  ///< the one in use
  std::string description() const override;

  /// Not taken: no JPEG, a broken header, four colors, or a kind that the engine has not (the hardware's: progressive).
  std::optional<JpegSize> size(std::span<const std::byte> jpeg) override;

  /// This thread waits for the batch before; and, where the hardware decodes, which does not wait for what the stream
  /// was given before, for that. Bytes in page-locked memory reach the device sooner.
  void decode(std::span<const JpegOnDevice> images, StreamHandle stream) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
