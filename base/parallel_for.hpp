// Runs independent pieces of work on several threads and tells the caller how far they are. Tools use it; the
// loader does not.
#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

/// Calls body(i) once for each i in [0, count) on `workers` threads (0: usable cores), in rising order of start.
/// `progress(done, count)` is called now and then from the calling thread; when it returns false the rest is left out.
/// Throws what a body threw first, once the bodies under way have ended; Error: resource, "interrupted".
void parallel_for(std::uint64_t count, unsigned workers, const std::function<void(std::uint64_t)>& body,
                  const std::function<bool(std::uint64_t done, std::uint64_t count)>& progress = {});

}  // namespace penstock
