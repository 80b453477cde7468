// Decides whether checksums in metadata must match: always, except in the fuzzing build.
#pragma once

namespace penstock {

/// A random change of a file almost never leaves its checksum valid, so a fuzzer would never reach the code after a
/// check. The fuzzing build (and no other) computes checksums and ignores the result.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr bool kChecksSums = false;
#else
inline constexpr bool kChecksSums = true;
#endif

}  // namespace penstock
