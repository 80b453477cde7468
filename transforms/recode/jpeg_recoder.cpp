#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <penstock/error.hpp>
#include <transforms/image/codecs/image_decoder.hpp>
#include <transforms/image/jpeg/codecs.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/jpt.hpp>
#include <transforms/image/kernels/resample.hpp>
#include <transforms/recode/jpeg_recoder.hpp>
#include <transforms/value_reader.hpp>

namespace penstock {
namespace {

// Returns the size with longest side `side`, and the other side rounded to the nearest pixel, like Pillow's
// thumbnail().
Size shrunk(Size size, std::int64_t side) {
  const auto other = [side](std::int64_t shorter, std::int64_t longer) {
    const double scaled = static_cast<double>(shorter) * static_cast<double>(side) / static_cast<double>(longer);
    return std::max<std::int64_t>(1, std::llround(scaled));
  };
  return size.width >= size.height ? Size{side, other(size.height, size.width)}
                                   : Size{other(size.width, size.height), side};
}

const FieldSchema kFile{.name = "jpg", .codec = "jpeg"}, kNameless{.name = "jpg", .codec = {}};

constexpr std::array kNamed{std::pair{std::string_view("keep"), JpegRecoding::Policy::keep},
                            std::pair{std::string_view("baseline"), JpegRecoding::Policy::baseline},
                            std::pair{std::string_view("recode"), JpegRecoding::Policy::recode},
                            std::pair{std::string_view("original"), JpegRecoding::Policy::original}};

}  // namespace

struct JpegRecoder::State : JpegRewriter {
  explicit State(const JpegRecoding& asked) : recoding(asked) {}

  void read_header(std::span<const std::byte> file);
  bool is_shrunk() const;
  bool copy_coefficients();  ///< false if the pixels would change
  void compress_again();
  std::span<const std::byte> finish();
  std::span<const std::byte> shrunk_or_again(std::span<const std::byte> file);
  std::span<const std::byte> to_jpt(std::span<const std::byte> file);
  std::span<const std::byte> to_baseline(std::span<const std::byte> file);
  std::span<const std::byte> proven(std::span<const std::byte> file, std::span<const std::byte> made);

  const JpegRecoding recoding;
  std::vector<std::uint8_t> pixels, small;
  Resampler resampler;
  std::optional<jpt::Encoder> encoder;  // created when first needed, like restorer
  std::optional<jpt::Restorer> restorer;
  ValueReader reader;
  ReadValue before, after;
  std::string kept;
};

void JpegRecoder::State::read_header(std::span<const std::byte> file) {
  restart();
  errors.guarded([&] {
    jpeg_mem_src(&from, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    save_markers(from);
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
  // Decoders repair progressive files with bad data, and smooth between blocks if scans are missing. A baseline file of
  // the same coefficients would not trigger either, so its pixels would differ.
  if (from.err->num_warnings != 0 || from.coef_bits == nullptr || lacks_scans(from)) return false;
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
                  Geometry::identity(size).resized(made), Interpolation::bilinear,
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

std::span<const std::byte> JpegRecoder::State::to_jpt(std::span<const std::byte> file) {
  if (!encoder) encoder.emplace();
  const std::span<const std::byte> field = encoder->encode(file);
  if (!field.empty()) return proven(file, field);
  kept = encoder->kept_because();
  return file;
}

// Returns `made` if a loader recognises its codec by the bytes and decodes the same upright pixels as from `file`.
// Otherwise returns `file`.
std::span<const std::byte> JpegRecoder::State::proven(std::span<const std::byte> file,
                                                      std::span<const std::byte> made) {
  try {
    reader.read(kFile, file, before);
    reader.read(kNameless, made, after);
    if (before == after) return made;
    kept = "its pixels would change";
  } catch (const Error& error) {
    if (!error.is_data_fault()) throw;
    kept = error.cause();
  }
  return file;
}

std::span<const std::byte> JpegRecoder::State::to_baseline(std::span<const std::byte> file) {
  try {
    read_header(file);
    if (from.progressive_mode == 0) return file;
    if (copy_coefficients()) return proven(file, finish());
    kept = "damaged: its pixels would change";
  } catch (const Error& error) {
    if (!error.is_data_fault()) throw;
    // Throws if a loader cannot read the file either.
    reader.read(kFile, file, before);
    kept = error.cause();
  }
  return file;
}

// Returns the file compressed again if its size or the quality option requires that, else `file`.
std::span<const std::byte> JpegRecoder::State::shrunk_or_again(std::span<const std::byte> file) {
  read_header(file);
  if (recoding.policy != JpegRecoding::Policy::quality && !is_shrunk()) return file;
  if (from.num_components != 1 && from.num_components != 3) {
    kept = std::to_string(from.num_components) + " components: not re-encoded";
    return file;
  }
  compress_again();
  const Shape shape{to.image_height, to.image_width, to.input_components};
  const std::span<const std::byte> made = finish();
  reader.read(kNameless, made, after);
  const bool turned = after.layout.shape == Shape{shape[1], shape[0], shape[2]};  // turned by its EXIF block
  if (after.layout.shape != shape && !turned) throw Error::corrupt("jpeg: the re-encoded image has a different size");
  return made;
}

JpegRecoding jpeg_recoding(std::string_view policy, std::int64_t max_side) {
  constexpr std::string_view kQuality = "quality:";
  JpegRecoding recoding{.max_side = max_side};
  for (const auto& [name, known] : kNamed) {
    if (policy != name) continue;
    recoding.policy = known;
    return recoding;
  }
  const std::string_view number = policy.substr(std::min(policy.size(), kQuality.size()));
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), recoding.quality);
  if (!policy.starts_with(kQuality) || fault != std::errc() || end != number.data() + number.size())
    throw Error::invalid_argument(
        "jpeg must be \"keep\", \"baseline\", \"recode\", \"original\" or \"quality:Q\", not \"" + std::string(policy) +
        "\"");
  recoding.policy = JpegRecoding::Policy::quality;
  return recoding;
}

std::string policy_text(const JpegRecoding& recoding) {
  for (const auto& [name, known] : kNamed)
    if (recoding.policy == known) return std::string(name);
  return "quality:" + std::to_string(recoding.quality);
}

JpegRecoder::JpegRecoder(const JpegRecoding& recoding) {
  if (recoding.quality < 1 || recoding.quality > 100)
    throw Error::invalid_argument("JPEG quality must be between 1 and 100, not " + std::to_string(recoding.quality));
  if (recoding.max_side < 0 || recoding.max_side > JPEG_MAX_DIMENSION)
    throw Error::invalid_argument("max_side cannot be " + std::to_string(recoding.max_side) + " pixels");
  state_ = std::make_unique<State>(recoding);
}

JpegRecoder::~JpegRecoder() = default;
JpegRecoder::JpegRecoder(JpegRecoder&&) noexcept = default;

std::span<const std::byte> JpegRecoder::recode(std::span<const std::byte> file) {
  using Policy = JpegRecoding::Policy;
  State& state = *state_;
  state.kept.clear();
  if (state.recoding.keeps_all()) return file;
  const bool shrinks = state.recoding.max_side != 0;
  if (jpt_codec().recognises(file)) {
    if (state.recoding.policy == Policy::recode && !shrinks) return file;
    if (!state.restorer) state.restorer.emplace();
    file = state.restorer->restore(file).bytes;
  }
  if (state.recoding.policy == Policy::recode && !shrinks) return state.to_jpt(file);
  if (state.recoding.policy == Policy::original && !shrinks) return file;
  if (state.recoding.policy == Policy::baseline && !shrinks) return state.to_baseline(file);
  const std::span<const std::byte> made = state.shrunk_or_again(file);
  if (state.recoding.policy == Policy::recode) return state.to_jpt(made);
  const bool as_it_was = made.data() == file.data();
  return state.recoding.policy == Policy::baseline && as_it_was ? state.to_baseline(file) : made;
}

const std::string& JpegRecoder::kept_because() const {
  return state_->kept;
}

}  // namespace penstock
