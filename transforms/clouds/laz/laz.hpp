// Decodes LAZ: compressed LAS of point formats 0 to 10, including COPC, which is LAZ with reordered points.
//
// Reads everything that LASzip ever wrote, with compressors 1 to 3 (pointwise, in chunks, layered). Items POINT10,
// GPSTIME11, RGB12 and BYTE may have versions 1 and 2, WAVEPACKET13 version 1. Items POINT14, RGB14, RGBNIR14,
// WAVEPACKET14 and BYTE14 may have versions 3 and 4. Anything else is unsupported.
//
// Names, dtypes and origin are those of codecs/las.hpp. For chosen points, only their chunks are decoded, each up to
// its last chosen point. In layered files, only the layers of the coordinates and of the attributes in DecodeOptions
// are decoded. If the chunk table is missing and chunks have a fixed number of points, each chunk is found at the end
// of the previous one.
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

const CloudCodec& laz_codec();

}  // namespace penstock
