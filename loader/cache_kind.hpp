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

/// Who shares that cache: the threads of one process, or all processes of this user on the node that read the same
/// samples in the same way.
enum class CacheScope : std::uint8_t { process, node };

std::string_view name(CacheScope scope);
CacheScope cache_scope_named(std::string_view name);  ///< Throws Error: invalid_argument.

std::string_view name(CacheKind kind);
CacheKind cache_named(std::string_view name);  ///< Throws Error: invalid_argument.

}  // namespace penstock
