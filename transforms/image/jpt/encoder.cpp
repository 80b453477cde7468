#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <penstock/error.hpp>
#include <transforms/image/codecs/image_decoder.hpp>
#include <transforms/image/jpeg/codecs.hpp>
#include <transforms/image/jpeg/jpeg.hpp>
#include <transforms/image/jpeg/read_frame.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/jpt.hpp>
#include <transforms/image/jpt/picture.hpp>
#include <transforms/image/jpt/to_jpeg.hpp>

namespace penstock::jpt {
namespace {

/// If the absolute dequantised coefficients of a block add up to at most this, no implementation of the inverse DCT
/// overflows. Values between the passes fit into 16 bits, and samples are inside the range-limit tables.
constexpr int kHarmless = 4096;

/// Reason why a file must stay unchanged. Thrown only inside this file.
struct Kept {
  std::string reason;
};

class Source {
 public:
  /// Reads frame and coefficients. Throws Kept, Error.
  void read(std::span<const std::byte> file, unsigned tile_pixels, Frame& frame, Coefficients& coefficients) {
    reader_.abort();
    reader_.guarded([&] {
      jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
      jpeg_read_header(&jpeg_, TRUE);
    });
    read_frame(tile_pixels, frame);
    jvirt_barray_ptr* arrays = nullptr;
    reader_.guarded([&] { arrays = jpeg_read_coefficients(&jpeg_); });
    if (lacks_scans(jpeg_)) throw Kept{"scans are missing"};
    read_tables(frame);
    coefficients.assign(frame);
    reader_.guarded([&] {
      auto* common = reinterpret_cast<j_common_ptr>(&jpeg_);
      for (std::size_t c = 0; c < frame.components; ++c) {
        for (std::size_t y = 0; y < frame.blocks_down(c); ++y) {
          JBLOCKARRAY row = jpeg_.mem->access_virt_barray(common, arrays[c], static_cast<JDIMENSION>(y), 1, FALSE);
          std::memcpy(coefficients.block(c, 0, y), row[0], frame.blocks_across(c) * sizeof(JBLOCK));
        }
      }
    });
    reader_.abort();
  }
  bool warned() const { return jpeg_.err->num_warnings != 0; }

 private:
  void read_frame(unsigned tile_pixels, Frame& frame) {
    if (const char* reason = jpt::read_frame(jpeg_, frame)) throw Kept{reason};
    check_image_size(frame.width, frame.height, 3);
    frame.tile_width = std::max(1U, tile_pixels / 8 / frame.most_horizontal());
    frame.tile_height = std::max(1U, tile_pixels / 8 / frame.most_vertical());
  }

  void read_tables(Frame& frame) const {
    for (std::size_t c = 0; c < frame.components; ++c) {
      const JQUANT_TBL* table = jpeg_.comp_info[c].quant_table;
      if (table == nullptr) throw Kept{"a component without a scan"};
      std::array<std::uint16_t, 64> steps;
      std::copy(std::begin(table->quantval), std::end(table->quantval), steps.begin());
      auto found = std::ranges::find(frame.quantisation, steps);
      frame.component[c].quantisation = static_cast<unsigned>(found - frame.quantisation.begin());
      if (found == frame.quantisation.end()) frame.quantisation.push_back(steps);
    }
  }

  JpegDecompressor reader_;
  jpeg_decompress_struct& jpeg_ = reader_.jpeg();
};

bool has_strong_blocks(const Frame& frame, const Coefficients& coefficients) {
  for (std::size_t c = 0; c < frame.components; ++c) {
    const auto& steps = frame.quantisation[frame.component[c].quantisation];
    const auto& all = coefficients.of[c];
    for (std::size_t i = 0; i < all.size(); i += 64) {
      int sum = 0;
      for (std::size_t k = 0; k < 64; ++k) sum += std::min(std::abs(all[i + k] * int{steps[k]}), kHarmless);
      if (sum > kHarmless) return true;
    }
  }
  return false;
}

/// Returns the pixels of the image at 1/`denominator` of its size, or nothing if the codec cannot shrink it.
std::vector<std::byte> pixels_of(const Codec& codec, std::span<const std::byte> bytes, unsigned denominator) {
  static const FieldSchema schema{.name = "jpg", .codec = {}};
  const FieldBytes field{.schema = &schema, .bytes = bytes};
  const auto decoder = codec.decoder(schema);
  Layout layout = decoder->peek(field);
  if (denominator != 1) {
    const std::optional<Size> size = decoder->shrink(denominator);
    if (!size) return {};
    layout.shape = {size->height, size->width, layout.shape.at(2)};
  }
  std::vector<std::byte> pixels(element_count(layout.shape));
  decoder->decode(field, nullptr, {pixels.data(), DType::u8, layout.shape});
  return pixels;
}

/// Returns whether loaders get the same pixels from both, at every size at which they may decode.
bool same_pixels(std::span<const std::byte> field, std::span<const std::byte> file) {
  for (const unsigned denominator : {1U, 2U, 4U, 8U})
    if (pixels_of(jpt_codec(), field, denominator) != pixels_of(jpeg_codec(), file, denominator)) return false;
  return true;
}

bool same_coefficients(const Frame& frame, const Coefficients& a, const Coefficients& b) {
  for (std::size_t c = 0; c < frame.components; ++c)
    if (a.of[c] != b.of[c]) return false;
  return true;
}

void read_back(std::span<const std::byte> field, Picture& picture, Head& head, Coefficients& coefficients) {
  parse_head(field, head);
  coefficients.assign(head.frame);
  picture.coefficients(field, head, [&](std::size_t c, std::size_t x, std::size_t y, const std::int16_t* block) {
    std::memcpy(coefficients.block(c, x, y), block, 64 * sizeof *block);
  });
}

}  // namespace

struct Encoder::State {
  explicit State(unsigned pixels) : tile_pixels(pixels) {}

  void encode_file(std::span<const std::byte> file);
  void add_way_back(std::span<const std::byte> file);

  const unsigned tile_pixels;
  Source source, again;
  Frame frame;
  Head head;
  Coefficients coefficients, decoded;
  Picture picture;
  JpegWriter writer;
  Skeleton skeleton;
  std::vector<std::span<const std::byte>> scans;
  std::vector<std::byte> field, restored;
  std::string kept;
  bool exact = false;
};

void Encoder::State::encode_file(std::span<const std::byte> file) {
  source.read(file, tile_pixels, frame, coefficients);
  jpt::encode(frame, coefficients, field);
  read_back(field, picture, head, decoded);
  if (!same_coefficients(frame, coefficients, decoded)) throw Kept{"its coefficients cannot be restored exactly"};
  if (source.warned() || has_strong_blocks(frame, coefficients)) {
    if (!same_pixels(field, file)) throw Kept{"damaged: its pixels depend on the decoder"};
  }
  add_way_back(file);
}

void Encoder::State::add_way_back(std::span<const std::byte> file) {
  take_apart(file, skeleton, scans);
  exact = writer.as_it_was(skeleton, frame, coefficients, restored) && std::ranges::equal(restored, file);
  if (!exact) {
    writer.baseline(skeleton, frame, coefficients, restored);
    Frame found;
    again.read(restored, tile_pixels, found, decoded);
    // Blocks beyond the image's edges are chosen by the compressor, so they may differ.
    for (std::size_t c = 0; c < frame.components; ++c) {
      const std::size_t across = (frame.samples_across(c) + 7) / 8, down = (frame.samples_down(c) + 7) / 8;
      for (std::size_t y = 0; y < down; ++y)
        if (std::memcmp(decoded.block(c, 0, y), coefficients.block(c, 0, y), across * 128) != 0)
          throw Kept{"its coefficients cannot be written as a JPEG file"};
    }
  }
  store_skeleton(skeleton, exact, field);
}

Encoder::Encoder(unsigned tile_pixels) : state_(std::make_unique<State>(tile_pixels)) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;

std::span<const std::byte> Encoder::encode(std::span<const std::byte> file) {
  state_->kept.clear();
  try {
    state_->encode_file(file);
    return state_->field;
  } catch (const Kept& kept) {
    state_->kept = kept.reason;
  } catch (const Error& error) {
    if (!error.is_data_fault()) throw;
    state_->kept = error.cause();
  }
  return {};
}

const std::string& Encoder::kept_because() const {
  return state_->kept;
}

bool Encoder::exact() const {
  return state_->exact;
}

struct Restorer::State {
  Picture picture;
  Head head;
  Coefficients coefficients;
  JpegWriter writer;
  Skeleton skeleton;
  std::vector<std::byte> file;
};

Restorer::Restorer() : state_(std::make_unique<State>()) {}
Restorer::~Restorer() = default;
Restorer::Restorer(Restorer&&) noexcept = default;

Restorer::File Restorer::restore(std::span<const std::byte> field) {
  State& state = *state_;
  read_back(field, state.picture, state.head, state.coefficients);
  const bool exact = load_skeleton(field.subspan(state.head.coded_bytes), state.skeleton);
  const Frame& frame = state.head.frame;
  if (!exact) {
    state.writer.baseline(state.skeleton, frame, state.coefficients, state.file);
  } else if (!state.writer.as_it_was(state.skeleton, frame, state.coefficients, state.file)) {
    throw Error::corrupt("jpt: the JPEG file cannot be restored exactly");
  }
  return {state.file, exact};
}

}  // namespace penstock::jpt
