// Runs independent items on several threads, and reports progress to the caller. Tools use it; a loader uses it only
// for preparations, such as reading lengths or scanning samples. Unlike TBB's parallel_for it allows more threads than
// cores, a caller that watches and may stop it, and items in ascending order.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

namespace penstock {

/// Calls body(worker, item, stop) once for each item in [0, count). Items start in ascending order, on `workers`
/// threads (0: usable cores) of an ArenaPool, numbered from 0. The calling thread calls `watch` ten times per second
/// and at the end. If `watch` returns false or throws, or the calling thread is interrupted (interruption.hpp), the
/// bodies and their waits are asked to stop, and the remaining items are skipped. Returns or throws after all bodies
/// have ended. Throws the exception of `watch`; the first exception of a body; Error: resource, "interrupted", or if a
/// thread cannot be started.
void parallel_for(std::uint64_t count, unsigned workers,
                  const std::function<void(unsigned worker, std::uint64_t item, const std::stop_token& stop)>& body,
                  const std::function<bool()>& watch);

/// A simpler form: body(item), and progress(done, count) instead of `watch`.
void parallel_for(std::uint64_t count, unsigned workers, const std::function<void(std::uint64_t item)>& body,
                  const std::function<bool(std::uint64_t done, std::uint64_t count)>& progress = {});

}  // namespace penstock
