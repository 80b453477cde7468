// Describes the frame of a JPEG file whose header libjpeg has read.
#pragma once

#include <cstdio>

#include <jpeglib.h>

#include <transforms/image/dct/frame.hpp>

namespace penstock::jpt {

/// Sets size, colour and components; tiles are of one MCU, and quantisation tables are left out. Returns null, or why
/// the file is none whose samples become pixels here.
const char* read_frame(const jpeg_decompress_struct& jpeg, Frame& frame);

}  // namespace penstock::jpt
