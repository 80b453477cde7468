// Visits every sample of a dataset, on all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

/// A worker visits groups of this many neighbours. Each group starts at a multiple of it.
inline constexpr std::uint64_t kScannedAtOnce = 256;

/// Calls `look` with each sample's number below `samples`. `look` runs in several workers at once, but in only one
/// thread per worker number. An invalid sample (Error::is_data_fault) ends its group; at the end, the error of the
/// first sample is thrown. `tick` is called regularly. Any other exception of `look` or `tick` ends the scan.
void scan_samples(std::uint64_t samples, unsigned workers,
                  const std::function<void(unsigned worker, std::uint64_t sample)>& look,
                  const std::function<void()>& tick);

}  // namespace penstock
