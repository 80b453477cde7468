// Writes what a trace recorded as Chrome's JSON, for Perfetto, chrome://tracing and the tools around PyTorch's
// profiler.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <record/time/trace_file.hpp>
#include <record/time/trace_log.hpp>

namespace penstock {

/// Names of what a trace only numbers.
struct TraceNames {
  std::string dataset, engine;
  std::vector<std::string> stages;  ///< behind the workers, in the order of the line, without the first
  std::vector<std::string> outputs;
  std::function<std::string_view(std::uint64_t)> key_of;  ///< of a sample
};

/// Source: "Trace Event Format" (Google), the JSON object format. Events are complete ones ("X"), which nest on each
/// thread; requests and copies, which overlap, are asynchronous ("b", "e"); queues are counters ("C"); flows ("s", "t",
/// "f") lead from where rows were asked for to their worker and to the next() that got the batch. Times are those of
/// the system's clock, in microseconds since "baseTimeNanoseconds", as PyTorch's profiler writes them.
///
///   process      threads
///   penstock     consumer (next, step), scheduler (plan, no slab, no room), workers (rows > sample > read, decode,
///                transform), a thread for each stage behind them
///   reads        groups of rows that are read ahead, each on a line that is free; requests, where an engine has them
///   slots        filling, ready, held
void write_trace(TextFile& file, const TraceLog::Recorded& recorded, const TraceNames& names);

}  // namespace penstock
