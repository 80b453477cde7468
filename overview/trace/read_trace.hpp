// Reads the traces of the PyTorch profiler.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include <overview/trace/trace.hpp>

namespace penstock::overview {

/// Called with the number of bytes of the file that have been read. Returns false to stop.
using TraceProgress = std::function<bool(std::uint64_t)>;

/// Reads a trace as torch.profiler exports it (Kineto, Chrome's trace event format), plain or with gzip, of PyTorch
/// 1.8 and later. Reads the file once from front to back and keeps about 50 bytes per event.
///
/// If the file ends early or is broken later on, returns the events before that place, with a note that names it.
/// Throws Error: io; corrupt (not JSON); unsupported (JSON without trace events); resource (stopped by `progress`).
///
/// Source: "Trace Event Format" (Google, 2016); output_json.cpp of Kineto. Times are microseconds with up to three
/// decimals, for each value of displayTimeUnit.
Trace read_trace(const std::filesystem::path& path, const TraceProgress& progress = {});

}  // namespace penstock::overview
