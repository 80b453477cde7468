#include <penstock/error.hpp>
#include <penstock/recoding.hpp>
#include <transforms/image/jpeg/baseline_decoder.hpp>
#include <transforms/image/jpeg/jpeg.hpp>
#include <transforms/recode/jpeg_recoder.hpp>

#include "fuzz/targets.hpp"
#include "support/libjpeg_pixels.hpp"

namespace penstock::fuzz {
namespace {

// What the decoder of baseline files takes, libjpeg decodes to the same pixels, if it decodes it.
void compare_decoders(Input input, const Layout& layout) {
  static JpegDecompressor libjpeg;
  static jpeg::BaselineDecoder baseline;
  const Region whole{.x = 0, .y = 0, .width = layout.shape[1], .height = layout.shape[0]};
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(whole.width * whole.height * 3)), expected;
  test::read_header(libjpeg, input);
  if (!baseline.decode(libjpeg.jpeg(), whole, 3, pixels.data())) return;
  try {
    expected = test::libjpeg_pixels(libjpeg);
  } catch (const Error&) {
    return;  // it wants more data than it needs
  }
  require(pixels == expected, "pixels that are not libjpeg's");
}

}  // namespace

void jpeg_codec(Input input) {
  constexpr std::uint64_t kMostRecoded = std::uint64_t{1} << 20;
  const FieldSchema schema{.name = "jpg", .codec = "jpeg"};
  const Layout layout = penstock::jpeg_codec().decoder(schema)->peek({.schema = &schema, .bytes = input});
  try {
    decode_value("jpeg", input);
  } catch (const Error&) {
  }
  if (element_count(layout.shape) > kMostRecoded) return;
  compare_decoders(input, layout);
  static JpegRecoder baseline({.policy = JpegRecoding::Policy::baseline});
  static JpegRecoder smaller({.policy = JpegRecoding::Policy::quality, .quality = 50, .max_side = 16});
  try {
    baseline.recode(input);
  } catch (const Error&) {
  }
  smaller.recode(input);
}

}  // namespace penstock::fuzz
