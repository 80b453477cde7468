// Shares work out to a few numbered threads while the caller watches and may stop them.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

namespace penstock {

/// Calls body(worker, item, stop) once for each item in [0, count), in rising order of start, on threads numbered from
/// 0 on. `watch` is called from the calling thread ten times a second and at the end; when it returns false, or throws,
/// the bodies are asked to stop. Returns or throws once all have ended: what a body threw first; what `watch` threw;
/// Error: resource, "interrupted", or where a thread cannot be started.
void run_crew(std::uint64_t count, unsigned workers,
              const std::function<void(unsigned worker, std::uint64_t item, const std::stop_token& stop)>& body,
              const std::function<bool()>& watch);

}  // namespace penstock
