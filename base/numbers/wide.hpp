// 128-bit integers, for products of two 64-bit integers.
#pragma once

namespace penstock {

__extension__ using Wide = unsigned __int128;

}  // namespace penstock
