// Tells whether checksums in metadata must be right: always, except in the build that fuzzes.
#pragma once

namespace penstock {

/// A random change of a file nearly never leaves a checksum right, so a fuzzer would see nothing behind one. In its
/// build (and in no other) checksums are computed, and then nobody minds.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr bool kChecksSums = false;
#else
inline constexpr bool kChecksSums = true;
#endif

}  // namespace penstock
