#include <penstock/formats/error.hpp>
#include <penstock/transforms/jpeg.hpp>
#include <penstock/transforms/jpeg_recoder.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void jpeg_codec(Input input) {
  constexpr std::uint64_t kMostRecoded = std::uint64_t{1} << 20;
  const FieldSchema schema{.name = "jpg", .codec = "jpeg"};
  const Layout layout = penstock::jpeg_codec().decoder(schema)->peek({.schema = &schema, .bytes = input});
  try {
    decode_value("jpeg", input);
  } catch (const Error&) {
  }
  if (element_count(layout.shape) > kMostRecoded) return;
  static JpegRecoder baseline({.policy = JpegRecoding::Policy::baseline});
  static JpegRecoder smaller({.policy = JpegRecoding::Policy::quality, .quality = 50, .max_side = 16});
  try {
    baseline.recode(input);
  } catch (const Error&) {
  }
  smaller.recode(input);
}

}  // namespace penstock::fuzz
