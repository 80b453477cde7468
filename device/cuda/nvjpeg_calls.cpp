#include <device/cuda/late_library.hpp>
#include <device/cuda/nvjpeg_calls.hpp>

namespace penstock::nvjpeg {
namespace {

constexpr const char* kNames[] = {"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"};
constexpr const char* kInWheels[] = {"nvidia/cu13/lib/libnvjpeg.so.13", "nvidia/nvjpeg/lib/libnvjpeg.so.12"};
constexpr LateLibrary kLibrary{"nvJPEG", "PENSTOCK_NVJPEG", kNames, kInWheels,
                               "an nvJPEG library without batched decoding"};

bool find_all(void* file, Calls& calls) {
  return find(file, "nvjpegGetProperty", calls.get_property) && find(file, "nvjpegCreateEx", calls.create) &&
         find(file, "nvjpegDestroy", calls.destroy) && find(file, "nvjpegJpegStateCreate", calls.create_state) &&
         find(file, "nvjpegJpegStateDestroy", calls.destroy_state) &&
         find(file, "nvjpegJpegStreamCreate", calls.create_stream) &&
         find(file, "nvjpegJpegStreamDestroy", calls.destroy_stream) &&
         find(file, "nvjpegJpegStreamParseHeader", calls.parse_header) &&
         find(file, "nvjpegJpegStreamGetFrameDimensions", calls.frame_size) &&
         find(file, "nvjpegJpegStreamGetComponentsNum", calls.components) &&
         find(file, "nvjpegDecodeBatchedSupported", calls.supported) &&
         find(file, "nvjpegDecodeBatchedInitialize", calls.begin_batch) &&
         find(file, "nvjpegDecodeBatched", calls.decode_batch);
}

std::string version_of(const Calls& calls) {
  std::string text;
  for (int part = 0; part < 3; ++part) {  // major, minor, patch: library_types.h
    int value = 0;
    if (calls.get_property(part, &value) != Status::success) return {};
    text += (part == 0 ? "" : ".") + std::to_string(value);
  }
  return text;
}

}  // namespace

const Library& library() {
  static const Library once = load(kLibrary, find_all, version_of);
  return once;
}

}  // namespace penstock::nvjpeg
