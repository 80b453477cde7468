#include <cstring>
#include <memory>
#include <string>

#include <libdeflate.h>
#include <spng.h>

#include <formats/io/checks_sums.hpp>
#include <penstock/error.hpp>
#include <transforms/image/codecs/exif.hpp>
#include <transforms/image/codecs/image_decoder.hpp>
#include <transforms/image/codecs/oriented_decoder.hpp>
#include <transforms/image/codecs/png.hpp>
#include <transforms/image/codecs/png_filters.hpp>
#include <transforms/image/codecs/png_pixels.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMaxChunk = std::size_t{1} << 28;
constexpr std::uint64_t kMaxRatio = 1032;  ///< limit of deflate: 258 bytes from 2 bits

constexpr std::uint32_t chunk_type(const char (&name)[5]) {
  return std::uint32_t{static_cast<std::uint8_t>(name[0])} << 24 |
         std::uint32_t{static_cast<std::uint8_t>(name[1])} << 16 |
         std::uint32_t{static_cast<std::uint8_t>(name[2])} << 8 | static_cast<std::uint8_t>(name[3]);
}

std::uint32_t big_endian(const std::uint8_t* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

/// The parts of a plain file.
struct Chunks {
  PngPalette palette{};
  std::vector<std::uint8_t> gathered;  ///< the pixel data, if several chunks hold it
  std::span<const std::uint8_t> compressed;
};

/// Iterates over the chunks of a file. Returns false unless it has only the usual chunks in the usual order.
/// Throws Error: corrupt, if a checksum is wrong.
bool walk(std::span<const std::byte> bytes, const PngHeader& header, Chunks& chunks) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data()) + 8;
  const auto* end = reinterpret_cast<const std::uint8_t*>(bytes.data()) + bytes.size();
  chunks.gathered.clear();
  chunks.compressed = {};
  enum { before, inside, after } pixels = before;
  bool has_palette = false;
  while (end - at >= 12) {
    const std::uint32_t length = big_endian(at), type = big_endian(at + 4);
    if (length > static_cast<std::size_t>(end - at) - 12) return false;
    const std::uint8_t* data = at + 8;
    if (libdeflate_crc32(0, at + 4, length + std::size_t{4}) != big_endian(data + length) && kChecksSums) {
      throw Error::corrupt("png: wrong checksum of a chunk");
    }
    at = data + length + 4;
    if (type == chunk_type("IDAT")) {
      if (pixels == after) return false;
      if (pixels == inside && chunks.gathered.empty()) {
        chunks.gathered.assign(chunks.compressed.begin(), chunks.compressed.end());
      }
      if (pixels == inside) chunks.gathered.insert(chunks.gathered.end(), data, data + length);
      if (pixels == before) chunks.compressed = {data, length};
      pixels = inside;
      continue;
    }
    if (pixels == inside) pixels = after;
    if (type == chunk_type("IEND")) {
      if (!chunks.gathered.empty()) chunks.compressed = chunks.gathered;
      return pixels == after && (has_palette || header.color != PngColor::palette);
    }
    if (type == chunk_type("PLTE")) {
      if (has_palette || pixels != before || length == 0 || length > 768 || length % 3 != 0) return false;
      has_palette = true;
      chunks.palette = {};
      std::memcpy(chunks.palette.data(), data, length);
    } else if (type != chunk_type("IHDR") && (type & 0x20000000u) == 0) {
      return false;  // critical and unknown
    }
  }
  return false;
}

struct FreeInflater {
  void operator()(libdeflate_decompressor* inflater) const { libdeflate_free_decompressor(inflater); }
};
struct FreeSpng {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};

void check(int code) {
  if (code == 0) return;
  const std::string cause = std::string("png: ") + spng_strerror(code);
  if (code == SPNG_EMEM) throw Error::resource(cause);
  throw Error::corrupt(cause);
}

class PngDecoder final : public Decoder {
 public:
  explicit PngDecoder(Pixels pixels) : pixels_(pixels), inflater_(libdeflate_alloc_decompressor()) {
    if (inflater_ == nullptr) throw Error::resource("png: no memory for a decompressor");
  }

  Layout peek(const FieldBytes& field) override {
    header_ = read_png_header(field.bytes);
    check_image_size(header_.width, header_.height, 3);
    const std::uint64_t stored = (header_.row_bytes() + std::uint64_t{1}) * header_.height;
    if (stored / kMaxRatio > field.bytes.size()) {
      throw Error::corrupt("png: the data is too short for its " + std::to_string(header_.width) + " x " +
                           std::to_string(header_.height) + " pixels");
    }
    stored_ = pixels_ == Pixels::stored && header_.has_one_channel();
    deep_ = pixels_ == Pixels::stored && header_.depth == 16;
    layout_.dtype = deep_ ? DType::u16 : DType::u8;
    layout_.image = true;
    layout_.shape.assign({header_.height, header_.width, stored_ ? 1 : 3});
    return layout_;
  }

  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    const Region want = checked_region(layout_, region, out);
    if (!read_plain(field.bytes, want)) read_any(field.bytes);
    const auto x = static_cast<std::size_t>(want.x), count = static_cast<std::size_t>(want.width);
    const std::size_t row_bytes = count * static_cast<std::size_t>(layout_.shape[2]) * size_of(layout_.dtype);
    auto* to = reinterpret_cast<std::uint8_t*>(out.data);
    for (std::int64_t y = want.y; y < want.y + want.height; ++y, to += row_bytes) {
      const std::uint8_t* row = first_row_ + static_cast<std::size_t>(y) * row_stride_;
      if (deep_) {
        png_row_deep(header_, row, x, count, reinterpret_cast<std::byte*>(to));
      } else if (stored_) {
        png_row_as_stored(header_, row, x, count, to);
      } else {
        png_row_to_rgb(header_, chunks_.palette, row, x, count, to);
      }
    }
  }

 private:
  /// Inflates the file at once and reverses the filters of the rows up to the region's last one. Returns false if the
  /// file is not plain: libspng then reads it, or reports the error.
  bool read_plain(std::span<const std::byte> bytes, const Region& want) {
    if (!walk(bytes, header_, chunks_) || header_.interlaced) return false;
    const std::size_t row_bytes = header_.row_bytes(), stride = row_bytes + 1;
    rows_.resize(row_bytes + stride * header_.height);  // with a row of zeros above the first
    std::uint8_t* rows = rows_.data() + row_bytes;
    switch (libdeflate_zlib_decompress(inflater_.get(), chunks_.compressed.data(), chunks_.compressed.size(), rows,
                                       stride * header_.height, nullptr)) {
      case LIBDEFLATE_SUCCESS:
        break;
      case LIBDEFLATE_INSUFFICIENT_SPACE:
        return false;  // more data than the image needs, which is harmless
      case LIBDEFLATE_SHORT_OUTPUT:
        throw Error::corrupt("png: ends before its last row");
      default:
        throw Error::corrupt("png: damaged pixel data");
    }
    std::memset(rows_.data(), 0, row_bytes);
    const std::uint8_t* above = rows_.data();
    for (std::int64_t y = 0; y < want.y + want.height; ++y, rows += stride) {
      if (!undo_png_filter(rows[0], rows + 1, above, row_bytes, header_.pixel_bytes())) {
        throw Error::corrupt("png: unknown filter");
      }
      above = rows + 1;
    }
    first_row_ = rows_.data() + row_bytes + 1;
    row_stride_ = stride;
    return true;
  }

  void read_any(std::span<const std::byte> bytes) {
    const std::unique_ptr<spng_ctx, FreeSpng> context(spng_ctx_new(0));
    if (context == nullptr) throw Error::resource("png: no memory for a decoder");
    check(spng_set_chunk_limits(context.get(), kMaxChunk, kMaxChunk));
    check(spng_set_png_buffer(context.get(), bytes.data(), bytes.size()));
    std::size_t size = 0;
    check(spng_decoded_image_size(context.get(), SPNG_FMT_RAW, &size));
    if (size != header_.row_bytes() * header_.height) throw Error::corrupt("png: contradictory image sizes");
    rows_.resize(size);
    check(spng_decode_image(context.get(), rows_.data(), rows_.size(), SPNG_FMT_RAW, 0));
    check(spng_decode_chunks(context.get()));  // reads to the end, to check all checksums
    chunks_.palette = {};
    spng_plte palette{};
    if (header_.color == PngColor::palette) check(spng_get_plte(context.get(), &palette));
    for (std::uint32_t i = 0; i < palette.n_entries && i < 256; ++i) {
      chunks_.palette[i] = {palette.entries[i].red, palette.entries[i].green, palette.entries[i].blue};
    }
    first_row_ = rows_.data();
    row_stride_ = header_.row_bytes();
  }

  Pixels pixels_;
  std::unique_ptr<libdeflate_decompressor, FreeInflater> inflater_;
  PngHeader header_{};
  bool stored_ = false, deep_ = false;
  Layout layout_;
  Chunks chunks_;
  std::vector<std::uint8_t> rows_;
  const std::uint8_t* first_row_ = nullptr;  ///< stored rows without filters, inside rows_
  std::size_t row_stride_ = 0;
};

class PngCodec final : public Codec {
 public:
  std::string_view name() const override { return "png"; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions& options) const override {
    auto decoder = std::make_unique<PngDecoder>(options.pixels);
    if (!options.upright) return decoder;
    return std::make_unique<OrientedDecoder>(std::move(decoder),
                                             [](const FieldBytes& field) { return png_orientation(field.bytes); });
  }
};

}  // namespace

const Codec& png_codec() {
  static const PngCodec codec;
  return codec;
}

}  // namespace penstock
