// Decodes LAZ: LAS point formats 0 to 10, compressed; also COPC, which is LAZ with an order of its own.
//
// Read: compressors 1 to 3 (pointwise, in chunks, layered), items POINT10, GPSTIME11, RGB12 and BYTE of versions 1 and
// 2, WAVEPACKET13 of version 1, and POINT14, RGB14, RGBNIR14, WAVEPACKET14, BYTE14 of versions 3 and 4: all that LASzip
// ever wrote. Refused as unsupported: anything else.
//
// Names, dtypes and origin are those of clouds/las.hpp. Of chosen points, only the chunks that hold any are decoded,
// each up to its last one; of layered files only the layers that coordinates and the attributes named in DecodeOptions
// need. Chunks of a fixed number of points are found without their table too, each behind the one before.
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

const CloudCodec& laz_codec();

}  // namespace penstock
