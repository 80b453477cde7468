#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <jpeglib.h>
#include <spng.h>

#include <bench/synth/picture_writer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
};

void leave(j_common_ptr codec) {
  std::longjmp(reinterpret_cast<JpegErrors*>(codec->err)->escape, 1);
}

// This function must not contain objects with destructors, because libjpeg reports errors by longjmp. `rows` holds
// `height` row pointers.
bool compress(JSAMPARRAY rows, std::uint32_t width, std::uint32_t height, const JpegStyle& style, unsigned char** bytes,
              unsigned long* size) {
  jpeg_compress_struct codec;
  JpegErrors errors;
  codec.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = leave;
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_compress(&codec);
    return false;
  }
  jpeg_create_compress(&codec);
  jpeg_mem_dest(&codec, bytes, size);
  codec.image_width = width;
  codec.image_height = height;
  codec.input_components = 3;
  codec.in_color_space = JCS_RGB;
  jpeg_set_defaults(&codec);  // YCbCr, 4:2:0
  if (style.grayscale) jpeg_set_colorspace(&codec, JCS_GRAYSCALE);
  jpeg_set_quality(&codec, style.quality, TRUE);
  if (style.progressive) jpeg_simple_progression(&codec);
  jpeg_start_compress(&codec, TRUE);
  while (codec.next_scanline < height) jpeg_write_scanlines(&codec, rows + codec.next_scanline, 1);
  jpeg_finish_compress(&codec);
  jpeg_destroy_compress(&codec);
  return true;
}

std::vector<std::byte> copy_of(const void* bytes, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(bytes);
  return {first, first + size};
}

}  // namespace

std::vector<std::byte> encode_jpeg(std::span<const std::uint8_t> pixels, std::uint32_t width, std::uint32_t height,
                                   const JpegStyle& style) {
  std::vector<JSAMPROW> rows(height);  // libjpeg's rows are not const, but it only reads them
  for (std::uint32_t y = 0; y < height; ++y) rows[y] = const_cast<JSAMPROW>(pixels.data() + std::size_t{y} * width * 3);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool good = compress(rows.data(), width, height, style, &bytes, &size);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owner(bytes, std::free);
  if (!good) throw Error::resource("libjpeg could not compress an image");
  return copy_of(bytes, size);
}

std::vector<std::byte> encode_png(std::span<const std::uint8_t> pixels, std::uint32_t width, std::uint32_t height) {
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> codec(spng_ctx_new(SPNG_CTX_ENCODER), spng_ctx_free);
  if (!codec) throw Error::resource("libspng is out of memory");
  spng_ihdr header{};
  header.width = width;
  header.height = height;
  header.bit_depth = 8;
  header.color_type = SPNG_COLOR_TYPE_TRUECOLOR;
  int result = spng_set_option(codec.get(), SPNG_ENCODE_TO_BUFFER, 1);
  if (result == 0) result = spng_set_ihdr(codec.get(), &header);
  if (result == 0)
    result = spng_encode_image(codec.get(), pixels.data(), pixels.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  std::size_t size = 0;
  const std::unique_ptr<void, decltype(&std::free)> bytes(
      result == 0 ? spng_get_png_buffer(codec.get(), &size, &result) : nullptr, std::free);
  if (!bytes) throw Error::resource(std::string("libspng could not compress an image: ") + spng_strerror(result));
  return copy_of(bytes.get(), size);
}

}  // namespace penstock
