// Writes a recorded trace as Chrome's JSON, for Perfetto, chrome://tracing and the tools of PyTorch's profiler.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <record/time/trace_file.hpp>
#include <record/time/trace_log.hpp>

namespace penstock {

/// Names for the numbers in a trace.
struct TraceNames {
  std::string dataset, engine;
  std::vector<std::string> stages;  ///< after the workers, in order, without the first
  std::vector<std::string> outputs;
  std::function<std::string_view(std::uint64_t)> key_of;  ///< of a sample
};

/// Source of the format: "Trace Event Format" (Google), the JSON object format. Most events are complete events
/// ("X"), which nest on each thread. Requests and copies overlap, so they are asynchronous events ("b", "e"). Queues
/// are counters ("C"). Flows ("s", "t", "f") lead from the request for rows to their worker and to the next() that
/// returned the batch. Times are those of the system's clock, in microseconds since "baseTimeNanoseconds", as in
/// PyTorch's profiler.
///
///   process   threads
///   penstock  consumer (next, step), scheduler (plan, no slab, no room), workers (rows > sample > read, decode,
///             transform), a thread for each later stage
///   reads     groups of rows that are read ahead, each on a free line; requests, if the engine has them
///   slots     filling, ready, held
///
/// Invariant: complete events of one thread nest or are disjoint, as the format requires. Reads may overlap, so each is
/// placed on a line that is free.
void write_trace(TextFile& file, const TraceLog::Recorded& recorded, const TraceNames& names);

}  // namespace penstock
