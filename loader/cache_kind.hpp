// Names what a loader's cache keeps of samples.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

/// What a loader keeps of the samples that it has read.
enum class CacheKind : std::uint8_t {
  none,
  encoded,  ///< stored bytes, blocks undone
  decoded,  ///< images as pixels, before any crop or draw; rows that nothing is drawn for as they are; else as
            ///< `encoded`
};

std::string_view name(CacheKind kind);
CacheKind cache_named(std::string_view name);  ///< Throws Error: invalid_argument.

}  // namespace penstock
