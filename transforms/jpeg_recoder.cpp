#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include <jerror.h>

#include <penstock/formats/error.hpp>
#include <penstock/transforms/image_decoder.hpp>
#include <penstock/transforms/jpeg_errors.hpp>
#include <penstock/transforms/jpeg_recoder.hpp>
#include <penstock/transforms/resample.hpp>

namespace penstock {
namespace {

constexpr unsigned kMaxMarkerBytes = 0xFFFF;
constexpr int kJfif = JPEG_APP0, kAdobe = JPEG_APP0 + 14;

bool begins_with(const jpeg_marker_struct& marker, const char* text, std::size_t size) {
  return marker.data_length >= size && std::memcmp(marker.data, text, size) == 0;
}

// JFIF and Adobe markers are written by libjpeg itself.
bool is_written_anyway(const jpeg_compress_struct& to, const jpeg_marker_struct& marker) {
  return (to.write_JFIF_header != 0 && marker.marker == kJfif && begins_with(marker, "JFIF", 5)) ||
         (to.write_Adobe_marker != 0 && marker.marker == kAdobe && begins_with(marker, "Adobe", 5));
}

void copy_markers(const jpeg_decompress_struct& from, jpeg_compress_struct& to) {
  for (const jpeg_marker_struct* marker = from.marker_list; marker != nullptr; marker = marker->next)
    if (!is_written_anyway(to, *marker)) jpeg_write_marker(&to, marker->marker, marker->data, marker->data_length);
}

// Decoders patch up progressive files with bad data, or with scans missing (they smooth between blocks), in ways that a
// baseline file of the same coefficients would not see.
bool is_damaged(const jpeg_decompress_struct& from) {
  if (from.err->num_warnings != 0 || from.coef_bits == nullptr) return true;
  for (int c = 0; c < from.num_components; ++c) {
    for (int k = 0; k < DCTSIZE2; ++k) {
      if (from.coef_bits[c][k] != 0) return true;
    }
  }
  return false;
}

// Longest side `side`, the other to the nearest pixel, as Pillow's thumbnail() does it.
Size shrunk(Size size, std::int64_t side) {
  const auto other = [side](std::int64_t shorter, std::int64_t longer) {
    const double scaled = static_cast<double>(shorter) * static_cast<double>(side) / static_cast<double>(longer);
    return std::max<std::int64_t>(1, std::llround(scaled));
  };
  return size.width >= size.height ? Size{side, other(size.height, size.width)}
                                   : Size{other(size.width, size.height), side};
}

/// Memory that libjpeg writes to; grown as needed and kept from file to file. (libjpeg's own memory destination forgets
/// what it has grown when an error ends it.)
class Output {
 public:
  Output() {
    manager_.init_destination = [](j_compress_ptr codec) { of(codec).begin(codec); };
    manager_.empty_output_buffer = [](j_compress_ptr codec) -> boolean {
      of(codec).grow(codec);
      return TRUE;
    };
    manager_.term_destination = [](j_compress_ptr codec) {
      Output& output = of(codec);
      output.size_ = output.capacity_ - output.manager_.free_in_buffer;
    };
  }
  ~Output() { std::free(bytes_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  jpeg_destination_mgr* manager() { return &manager_; }
  std::span<const std::byte> bytes() const { return {reinterpret_cast<const std::byte*>(bytes_), size_}; }

 private:
  static constexpr std::size_t kFirst = 64 << 10;

  static Output& of(j_compress_ptr codec) {
    return *reinterpret_cast<Output*>(codec->dest);  // the manager is the first member
  }

  void begin(j_compress_ptr codec) {
    manager_.next_output_byte = bytes_;
    manager_.free_in_buffer = capacity_;
    if (capacity_ == 0) grow(codec);
  }

  void grow(j_compress_ptr codec) {
    const std::size_t capacity = std::max(kFirst, 2 * capacity_);
    auto* bytes = static_cast<unsigned char*>(std::realloc(bytes_, capacity));
    if (bytes == nullptr) ERREXIT1(codec, JERR_OUT_OF_MEMORY, 0);
    manager_.next_output_byte = bytes + capacity_;
    manager_.free_in_buffer = capacity - capacity_;
    bytes_ = bytes;
    capacity_ = capacity;
  }

  jpeg_destination_mgr manager_{};
  unsigned char* bytes_ = nullptr;
  std::size_t capacity_ = 0, size_ = 0;
};
static_assert(std::is_standard_layout_v<Output>);

}  // namespace

struct JpegRecoder::State {
  explicit State(const JpegRecoding& asked) : recoding(asked) {
    errors.attach(reinterpret_cast<j_common_ptr>(&from));
    errors.attach(reinterpret_cast<j_common_ptr>(&to));
    errors.guarded([this] {
      jpeg_create_decompress(&from);
      jpeg_create_compress(&to);
    });
    errors.limit(&from);
    to.dest = output.manager();
  }
  ~State() {
    jpeg_destroy_decompress(&from);
    jpeg_destroy_compress(&to);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void read_header(std::span<const std::byte> file);
  bool is_shrunk() const;
  bool copy_coefficients();  ///< false when the pixels would change
  void compress_again();
  std::span<const std::byte> finish();

  const JpegRecoding recoding;
  JpegErrors errors;
  jpeg_decompress_struct from{};
  jpeg_compress_struct to{};
  Output output;
  std::vector<std::uint8_t> pixels, small;
  Resampler resampler;
};

void JpegRecoder::State::read_header(std::span<const std::byte> file) {
  errors.guarded([this] {
    jpeg_abort_decompress(&from);
    jpeg_abort_compress(&to);
  });
  errors.guarded([&] {
    jpeg_mem_src(&from, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_save_markers(&from, JPEG_COM, kMaxMarkerBytes);
    for (int marker = JPEG_APP0; marker < JPEG_APP0 + 16; ++marker) jpeg_save_markers(&from, marker, kMaxMarkerBytes);
    jpeg_read_header(&from, TRUE);
  });
  check_image_size(from.image_width, from.image_height, 3);
}

bool JpegRecoder::State::is_shrunk() const {
  return recoding.max_side != 0 && std::max<std::int64_t>(from.image_width, from.image_height) > recoding.max_side;
}

bool JpegRecoder::State::copy_coefficients() {
  jvirt_barray_ptr* coefficients = nullptr;
  errors.guarded([&] { coefficients = jpeg_read_coefficients(&from); });
  if (is_damaged(from)) return false;
  errors.guarded([&] {
    jpeg_copy_critical_parameters(&from, &to);
    to.optimize_coding = TRUE;
    to.restart_interval = 0;
    jpeg_write_coefficients(&to, coefficients);
    copy_markers(from, to);
    jpeg_finish_compress(&to);
  });
  return true;
}

void JpegRecoder::State::compress_again() {
  const Size size{from.image_width, from.image_height};
  const bool gray = from.num_components == 1;
  const std::int64_t channels = gray ? 1 : 3;
  const Size made = is_shrunk() ? shrunk(size, recoding.max_side) : size;
  pixels.resize(static_cast<std::size_t>(size.width * size.height * channels));
  from.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  errors.guarded([&] {
    jpeg_start_decompress(&from);
    while (from.output_scanline < from.output_height) {
      JSAMPROW row =
          pixels.data() + std::size_t{from.output_scanline} * from.output_width * static_cast<unsigned>(channels);
      jpeg_read_scanlines(&from, &row, 1);
    }
  });
  std::uint8_t* rows = pixels.data();
  if (made != size) {
    small.resize(static_cast<std::size_t>(made.width * made.height * channels));
    resampler.run({pixels.data(), size.width * channels, channels, {0, 0, size.width, size.height}},
                  Geometry::identity(size).resized(made), Filter::bilinear,
                  {.data = reinterpret_cast<std::byte*>(small.data()), .channels_last = true});
    rows = small.data();
  }
  errors.guarded([&] {
    to.image_width = static_cast<JDIMENSION>(made.width);
    to.image_height = static_cast<JDIMENSION>(made.height);
    to.input_components = static_cast<int>(channels);
    to.in_color_space = from.out_color_space;
    jpeg_set_defaults(&to);
    jpeg_set_quality(&to, recoding.quality, TRUE);
    to.optimize_coding = TRUE;
    for (int c = 0; c < to.num_components && from.jpeg_color_space != JCS_RGB; ++c) {
      to.comp_info[c].h_samp_factor = from.comp_info[c].h_samp_factor;
      to.comp_info[c].v_samp_factor = from.comp_info[c].v_samp_factor;
    }
    jpeg_start_compress(&to, TRUE);
    copy_markers(from, to);
    while (to.next_scanline < to.image_height) {
      JSAMPROW row = rows + std::size_t{to.next_scanline} * to.image_width * static_cast<unsigned>(channels);
      jpeg_write_scanlines(&to, &row, 1);
    }
    jpeg_finish_compress(&to);
  });
}

std::span<const std::byte> JpegRecoder::State::finish() {
  errors.guarded([this] { jpeg_abort_decompress(&from); });
  return output.bytes();
}

JpegRecoding jpeg_recoding(std::string_view policy, std::int64_t max_side) {
  constexpr std::string_view kQuality = "quality:";
  JpegRecoding recoding{.max_side = max_side};
  if (policy == "keep") return recoding;
  if (policy == "baseline") {
    recoding.policy = JpegRecoding::Policy::baseline;
    return recoding;
  }
  const std::string_view number = policy.substr(std::min(policy.size(), kQuality.size()));
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), recoding.quality);
  if (!policy.starts_with(kQuality) || fault != std::errc() || end != number.data() + number.size())
    throw Error::invalid_argument("jpeg is \"keep\", \"baseline\" or \"quality:Q\", not \"" + std::string(policy) +
                                  "\"");
  recoding.policy = JpegRecoding::Policy::quality;
  return recoding;
}

std::string policy_text(const JpegRecoding& recoding) {
  switch (recoding.policy) {
    case JpegRecoding::Policy::keep:
      return "keep";
    case JpegRecoding::Policy::baseline:
      return "baseline";
    case JpegRecoding::Policy::quality:
      break;
  }
  return "quality:" + std::to_string(recoding.quality);
}

JpegRecoder::JpegRecoder(const JpegRecoding& recoding) {
  if (recoding.quality < 1 || recoding.quality > 100)
    throw Error::invalid_argument("JPEG quality is from 1 to 100, not " + std::to_string(recoding.quality));
  if (recoding.max_side < 0 || recoding.max_side > JPEG_MAX_DIMENSION)
    throw Error::invalid_argument("the longest side cannot be " + std::to_string(recoding.max_side) + " pixels");
  state_ = std::make_unique<State>(recoding);
}

JpegRecoder::~JpegRecoder() = default;
JpegRecoder::JpegRecoder(JpegRecoder&&) noexcept = default;

std::span<const std::byte> JpegRecoder::recode(std::span<const std::byte> file) {
  State& state = *state_;
  if (state.recoding.keeps_all()) return file;
  state.read_header(file);
  const bool pixels = state.from.num_components == 1 || state.from.num_components == 3;
  if (pixels && (state.recoding.policy == JpegRecoding::Policy::quality || state.is_shrunk())) {
    state.compress_again();
    return state.finish();
  }
  if (state.from.progressive_mode == 0 || state.recoding.policy == JpegRecoding::Policy::keep) return file;
  return state.copy_coefficients() ? state.finish() : file;
}

}  // namespace penstock
