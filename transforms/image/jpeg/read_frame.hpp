// Describes the frame of a JPEG file whose header libjpeg has read.
#pragma once

#include <cstdio>

#include <jpeglib.h>

#include <transforms/image/dct/frame.hpp>

namespace penstock::jpt {

/// Sets size, colour and components. Tiles have one MCU, and quantisation tables are left out. Returns null, or the
/// reason why this decoder does not support the file.
const char* read_frame(const jpeg_decompress_struct& jpeg, Frame& frame);

}  // namespace penstock::jpt
