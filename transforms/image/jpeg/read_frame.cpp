#include <transforms/image/jpeg/read_frame.hpp>

namespace penstock::jpt {

const char* read_frame(const jpeg_decompress_struct& jpeg, Frame& frame) {
  frame = {};
  frame.width = jpeg.image_width;
  frame.height = jpeg.image_height;
  switch (jpeg.jpeg_color_space) {
    case JCS_GRAYSCALE:
      frame.colour = Colour::gray;
      break;
    case JCS_YCbCr:
      frame.colour = Colour::ycc;
      break;
    case JCS_RGB:
      frame.colour = Colour::rgb;
      break;
    case JCS_CMYK:
    case JCS_YCCK:
      return "CMYK";
    default:
      return "an unknown colour space";
  }
  frame.components = frame.colour == Colour::gray ? 1 : 3;
  if (jpeg.num_components != static_cast<int>(frame.components)) return "an unknown colour space";
  for (std::size_t c = 0; c < frame.components; ++c) {
    frame.component[c].horizontal = static_cast<unsigned>(jpeg.comp_info[c].h_samp_factor);
    frame.component[c].vertical = static_cast<unsigned>(jpeg.comp_info[c].v_samp_factor);
  }
  for (std::size_t c = 0; c < frame.components; ++c) {
    const bool whole = frame.most_horizontal() % frame.component[c].horizontal == 0 &&
                       frame.most_vertical() % frame.component[c].vertical == 0;
    if (!whole) return "chroma sampling that is not a whole fraction";
  }
  return nullptr;
}

}  // namespace penstock::jpt
