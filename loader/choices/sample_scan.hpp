// Looks at every sample of a dataset, on all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

/// So many neighbours are looked at by one worker, the first of them divisible by it.
inline constexpr std::uint64_t kScannedAtOnce = 256;

/// Calls `look` with each sample's number below `samples`, from workers below `workers`, each one thread at a time. A
/// fault of data (Error::is_data_fault) ends its group; that of the first sample is thrown in the end. What else `look`
/// throws, and what `tick` throws, which is called now and then, ends all.
void scan_samples(std::uint64_t samples, unsigned workers,
                  const std::function<void(unsigned worker, std::uint64_t sample)>& look,
                  const std::function<void()>& tick);

}  // namespace penstock
