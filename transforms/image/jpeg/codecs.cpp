#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <jerror.h>

#include <transforms/image/jpeg/codecs.hpp>

namespace penstock {
namespace {

constexpr std::size_t kFirst = 64 << 10;
constexpr unsigned kMaxMarkerBytes = 0xFFFF;
constexpr int kJfif = JPEG_APP0, kAdobe = JPEG_APP0 + 14;

bool begins_with(const jpeg_marker_struct& marker, const char* text, std::size_t size) {
  return marker.data_length >= size && std::memcmp(marker.data, text, size) == 0;
}

// libjpeg writes JFIF and Adobe markers itself.
bool is_written_anyway(const jpeg_compress_struct& to, const jpeg_marker_struct& marker) {
  return (to.write_JFIF_header != 0 && marker.marker == kJfif && begins_with(marker, "JFIF", 5)) ||
         (to.write_Adobe_marker != 0 && marker.marker == kAdobe && begins_with(marker, "Adobe", 5));
}

}  // namespace

JpegOutput::JpegOutput() {
  static_assert(std::is_standard_layout_v<JpegOutput>);
  manager_.init_destination = [](j_compress_ptr codec) { of(codec).begin(codec); };
  manager_.empty_output_buffer = [](j_compress_ptr codec) -> boolean {
    of(codec).grow(codec);
    return TRUE;
  };
  manager_.term_destination = [](j_compress_ptr codec) {
    JpegOutput& output = of(codec);
    output.size_ = output.capacity_ - output.manager_.free_in_buffer;
  };
}

JpegOutput::~JpegOutput() {
  std::free(bytes_);
}

JpegOutput& JpegOutput::of(j_compress_ptr codec) {
  return *reinterpret_cast<JpegOutput*>(codec->dest);  // valid because the manager is the first member
}

void JpegOutput::begin(j_compress_ptr codec) {
  manager_.next_output_byte = bytes_;
  manager_.free_in_buffer = capacity_;
  if (capacity_ == 0) grow(codec);
}

void JpegOutput::grow(j_compress_ptr codec) {
  const std::size_t capacity = std::max(kFirst, 2 * capacity_);
  auto* bytes = static_cast<unsigned char*>(std::realloc(bytes_, capacity));
  if (bytes == nullptr) ERREXIT1(codec, JERR_OUT_OF_MEMORY, 0);
  manager_.next_output_byte = bytes + capacity_;
  manager_.free_in_buffer = capacity - capacity_;
  bytes_ = bytes;
  capacity_ = capacity;
}

void save_markers(jpeg_decompress_struct& from) {
  jpeg_save_markers(&from, JPEG_COM, kMaxMarkerBytes);
  for (int marker = JPEG_APP0; marker < JPEG_APP0 + 16; ++marker) jpeg_save_markers(&from, marker, kMaxMarkerBytes);
}

void copy_markers(const jpeg_decompress_struct& from, jpeg_compress_struct& to) {
  for (const jpeg_marker_struct* marker = from.marker_list; marker != nullptr; marker = marker->next)
    if (!is_written_anyway(to, *marker)) jpeg_write_marker(&to, marker->marker, marker->data, marker->data_length);
}

bool lacks_scans(const jpeg_decompress_struct& from) {
  if (from.progressive_mode == 0 || from.coef_bits == nullptr) return false;
  for (int c = 0; c < from.num_components; ++c) {
    for (int k = 0; k < DCTSIZE2; ++k) {
      if (from.coef_bits[c][k] != 0) return true;
    }
  }
  return false;
}

}  // namespace penstock
