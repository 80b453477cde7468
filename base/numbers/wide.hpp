// Whole numbers of 128 bits, for products of two of 64.
#pragma once

namespace penstock {

__extension__ using Wide = unsigned __int128;

}  // namespace penstock
