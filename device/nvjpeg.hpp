// JPEG on an NVIDIA GPU: nvJPEG, loaded when a program first asks for it. Nothing of penstock needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/device/device.hpp>
#include <penstock/device/library_facts.hpp>

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

/// A JPEG, and where its pixels go: RGB of uint8, row by row, on the device.
struct JpegOnDevice {
  std::span<const std::byte> jpeg;
  void* pixels = nullptr;
  std::size_t pitch = 0;  ///< bytes from a row to the next; at least 3 * width
};

/// Pixels differ from those of the processor's decoder: JPEG allows for another inverse DCT, and for another upsampling
/// of colors.
class NvJpegDecoder {
 public:
  struct Size {
    std::int32_t width, height;
    friend bool operator==(const Size&, const Size&) = default;
  };

  /// Throws Error: unsupported, for a device that is none of CUDA's, without nvJPEG, and for JpegEngine::hardware on a
  /// GPU without that engine; resource, where nvJPEG or the driver refuses.
  explicit NvJpegDecoder(std::shared_ptr<Device> device, JpegEngine engine = JpegEngine::automatic);
  ~NvJpegDecoder();
  NvJpegDecoder(const NvJpegDecoder&) = delete;
  NvJpegDecoder& operator=(const NvJpegDecoder&) = delete;

  JpegEngine engine() const;  ///< the one in use

  /// Nothing for bytes that this decoder does not take: no JPEG, a broken header, four colors, or a kind that the
  /// engine has not (the hardware's: progressive). Those are the processor's share.
  std::optional<Size> size(std::span<const std::byte> jpeg);

  /// Enqueues the decoding of all of them; their bytes and pixels must stay until an event behind it is done. Where the
  /// hardware decodes, which does not wait for what the stream was given before, this thread does. One call at a time.
  /// Throws Error: invalid_argument, for one that size() has nothing for; resource.
  void decode(std::span<const JpegOnDevice> images, StreamHandle stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
