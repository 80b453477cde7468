// Runs independent pieces of work on several threads, and tells the caller how far they are. Tools use it; a loader
// only where it seeks in batches by length. What TBB's own parallel_for has not stands here: a number of threads beyond
// the cores, a caller who watches and may stop it, items in rising order.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

namespace penstock {

/// Calls body(worker, item, stop) once for each item in [0, count), in rising order of start, on `workers` threads (0:
/// usable cores) of an ArenaPool, numbered from 0 on. `watch` is called from the calling thread ten times a second and
/// at the end; when it returns false, or throws, or the calling thread is interrupted (interruption.hpp), the bodies
/// are asked to stop, as are their waits, and the rest is left out. Returns or
/// throws once all have ended: what `watch` threw; what a body threw first; Error: resource, "interrupted", or where a
/// thread cannot be started.
void parallel_for(std::uint64_t count, unsigned workers,
                  const std::function<void(unsigned worker, std::uint64_t item, const std::stop_token& stop)>& body,
                  const std::function<bool()>& watch);

/// The same with less to tell: body(item), and progress(done, count) in place of `watch`.
void parallel_for(std::uint64_t count, unsigned workers, const std::function<void(std::uint64_t item)>& body,
                  const std::function<bool(std::uint64_t done, std::uint64_t count)>& progress = {});

}  // namespace penstock
