#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include <jpeglib.h>

#include <penstock/error.hpp>
#include <transforms/image/codecs/exif.hpp>
#include <transforms/image/codecs/image_decoder.hpp>
#include <transforms/image/codecs/oriented_decoder.hpp>
#include <transforms/image/jpeg/baseline_decoder.hpp>
#include <transforms/image/jpeg/codecs.hpp>
#include <transforms/image/jpeg/jpeg.hpp>

namespace penstock {
namespace {

constexpr std::size_t kLines = 4;  ///< lines per call of libjpeg

/// Returns (a * b + 127) / 255, rounded like Pillow's MULDIV255.
int scaled(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

/// Adobe inverts inks: 255 means none. Source: Pillow 13, rawmode "CMYK;I", then cmyk2rgb in Convert.c.
void cmyk_to_rgb(const std::uint8_t* inks, std::int64_t count, std::uint8_t* rgb) {
  for (std::int64_t i = 0; i < count; ++i, inks += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) rgb[c] = static_cast<std::uint8_t>(inks[3] - scaled(255 - inks[c], inks[3]));
  }
}

class JpegDecoder final : public Decoder {
 public:
  explicit JpegDecoder(Pixels pixels) : pixels_(pixels) {}

  Layout peek(const FieldBytes& field) override {
    ready_ = nullptr;
    decompressor_.abort();
    jpeg_decompress_struct& jpeg = decompressor_.jpeg();
    const std::span<const std::byte> bytes = field.bytes;
    decompressor_.guarded([&] {
      jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
      jpeg_read_header(&jpeg, TRUE);
    });
    check_image_size(jpeg.image_width, jpeg.image_height, 3);
    // Each block of 64 pixels takes at least one bit of Huffman code. Shorter data is truncated, and decoding it would
    // waste memory.
    if (!jpeg.arith_code && std::uint64_t{jpeg.image_width} * jpeg.image_height / 512 > bytes.size()) {
      throw Error::corrupt("jpeg: the data is too short for its " + std::to_string(jpeg.image_width) + " x " +
                           std::to_string(jpeg.image_height) + " pixels");
    }
    const bool gray = jpeg.num_components == 1 && pixels_ == Pixels::stored;
    switch (jpeg.num_components) {
      case 1:
      case 3:
        jpeg.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
        break;
      case 4:
        jpeg.out_color_space = JCS_CMYK;
        break;
      default:
        throw Error::unsupported("jpeg: " + std::to_string(jpeg.num_components) + " components");
    }
    ready_ = bytes.data();
    layout_.image = true;
    layout_.shape.assign({jpeg.image_height, jpeg.image_width, gray ? 1 : 3});
    return layout_;
  }

  // Uses the inverse DCT of each block's lowest frequencies, with those of libjpeg's factors that have SIMD code. If
  // chroma is subsampled by four, libjpeg's regions of a shrunk image differ from the same parts of the whole image.
  std::optional<Size> shrink(unsigned denominator) override {
    if (ready_ == nullptr) return std::nullopt;
    jpeg_decompress_struct& jpeg = decompressor_.jpeg();
    if (jpeg.max_h_samp_factor > 2 || jpeg.max_v_samp_factor > 2) return std::nullopt;
    jpeg.scale_num = 1;
    jpeg.scale_denom = denominator;
    decompressor_.guarded([&] { jpeg_calc_output_dimensions(&jpeg); });
    layout_.shape[0] = jpeg.output_height;
    layout_.shape[1] = jpeg.output_width;
    return Size{layout_.shape[1], layout_.shape[0]};
  }

  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    if (ready_ == nullptr || ready_ != field.bytes.data()) peek(field);
    ready_ = nullptr;
    const Region want = checked_region(layout_, region, out);
    jpeg_decompress_struct& jpeg = decompressor_.jpeg();
    const std::size_t channels = static_cast<std::size_t>(layout_.shape[2]);
    auto* to = reinterpret_cast<std::uint8_t*>(out.data);
    if (baseline_.decode(jpeg, want, channels, to)) {
      decompressor_.abort();
      return;
    }
    const std::int64_t left = start(jpeg, want);
    const auto inks = static_cast<std::size_t>(jpeg.output_components);
    const auto row_bytes = static_cast<std::size_t>(want.width) * channels;
    const bool direct = jpeg.output_width == static_cast<JDIMENSION>(want.width) && inks == channels;
    const std::size_t line_bytes = jpeg.output_width * inks;
    if (!direct && lines_.size() < line_bytes * kLines) lines_.resize(line_bytes * kLines);
    for (std::int64_t y = 0; y < want.height;) {
      const auto count = std::min<std::int64_t>(kLines, want.height - y);
      const auto done = read(jpeg, direct ? to : lines_.data(), line_bytes, count);
      for (std::int64_t i = 0; !direct && i < done; ++i) {
        const std::uint8_t* from =
            lines_.data() + static_cast<std::size_t>(i) * line_bytes + static_cast<std::size_t>(want.x - left) * inks;
        std::uint8_t* row = to + static_cast<std::size_t>(i) * row_bytes;
        if (inks == channels) {
          std::memcpy(row, from, row_bytes);
        } else {
          cmyk_to_rgb(from, want.width, row);
        }
      }
      y += done;
      to += static_cast<std::size_t>(done) * row_bytes;
    }
    decompressor_.abort();  // the data after the region is not read
  }

 private:
  /// Begins to decode the columns around `want`, and skips to its first line. Returns the first decoded column. Chroma
  /// upsampling uses the neighbouring column, so one more block on each side makes the region exact.
  std::int64_t start(jpeg_decompress_struct& jpeg, const Region& want) {
    const std::int64_t margin = std::int64_t{jpeg.max_h_samp_factor} * DCTSIZE;
    const std::int64_t width = layout_.shape[1];
    const std::int64_t begin = std::max<std::int64_t>(want.x - margin, 0);
    const std::int64_t end = std::min(want.x + want.width + margin, width);
    auto x = static_cast<JDIMENSION>(begin);
    auto columns = static_cast<JDIMENSION>(end - begin);
    const auto skip = static_cast<JDIMENSION>(want.y);
    JDIMENSION skipped = 0;
    decompressor_.guarded([&] { jpeg_start_decompress(&jpeg); });
    // libjpeg then smooths between blocks, over more than the margin of a region, so neither columns nor lines are
    // skipped.
    if (lacks_scans(jpeg)) {
      const std::size_t line_bytes = jpeg.output_width * static_cast<std::size_t>(jpeg.output_components);
      if (lines_.size() < line_bytes * kLines) lines_.resize(line_bytes * kLines);
      for (std::int64_t y = 0; y < want.y;) y += read(jpeg, lines_.data(), line_bytes, 1);
      return 0;
    }
    decompressor_.guarded([&] {
      if (columns < jpeg.output_width) jpeg_crop_scanline(&jpeg, &x, &columns);
      if (skip > 0) skipped = jpeg_skip_scanlines(&jpeg, skip);
    });
    if (skipped != skip) throw Error::corrupt("jpeg: ends before its last line");
    return x;
  }

  std::int64_t read(jpeg_decompress_struct& jpeg, std::uint8_t* to, std::size_t line_bytes, std::int64_t count) {
    JSAMPROW rows[kLines];
    for (std::size_t i = 0; i < kLines; ++i) rows[i] = to + i * line_bytes;
    JDIMENSION done = 0;
    decompressor_.guarded([&] { done = jpeg_read_scanlines(&jpeg, rows, static_cast<JDIMENSION>(count)); });
    if (done == 0) throw Error::corrupt("jpeg: ends before its last line");
    return done;
  }

  Pixels pixels_;
  JpegDecompressor decompressor_;
  jpeg::BaselineDecoder baseline_;
  Layout layout_;
  const std::byte* ready_ = nullptr;  ///< the field whose header was just read
  std::vector<std::uint8_t> lines_;
};

constexpr std::byte kMark{0xFF}, kStartOfImage{0xD8};
constexpr std::size_t kMostStray = 4096;  // limit for bytes between the start of the image and its first marker

/// Returns whether the start of the image is followed by a segment that may come first: tables, a frame, application
/// data or a comment. Stray bytes before the segment are skipped like in libjpeg.
bool reaches_marker(std::span<const std::byte> bytes) {
  const std::size_t end = std::min(bytes.size(), kMostStray);
  for (std::size_t i = 0; i + 1 < end; ++i) {
    if (bytes[i] != kMark || bytes[i + 1] == kMark || bytes[i + 1] == std::byte{0}) continue;
    const auto code = std::to_integer<unsigned>(bytes[i + 1]);
    return (code >= 0xC0 && code <= 0xCF) || code == 0xDB || code == 0xDD || (code >= 0xE0 && code <= 0xEF) ||
           code == 0xFE;
  }
  return false;
}

class JpegCodec final : public Codec {
 public:
  std::string_view name() const override { return "jpeg"; }
  bool recognises(std::span<const std::byte> first_bytes) const override {
    if (first_bytes.size() < 3 || first_bytes[0] != kMark || first_bytes[1] != kStartOfImage) return false;
    return first_bytes[2] == kMark || reaches_marker(first_bytes.subspan(2));
  }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions& options) const override {
    auto decoder = std::make_unique<JpegDecoder>(options.pixels);
    if (!options.upright) return decoder;
    return std::make_unique<OrientedDecoder>(std::move(decoder),
                                             [](const FieldBytes& field) { return exif_orientation(field.bytes); });
  }
};

}  // namespace

const Codec& jpeg_codec() {
  static const JpegCodec codec;
  return codec;
}

}  // namespace penstock
