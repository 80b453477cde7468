// The events of a trace that was read, for comparisons.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <overview/trace/read_trace.hpp>

#include "overview/made_trace.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test {

inline overview::Trace read(const std::string& text) {
  const TemporaryFolder folder;
  write_file(folder / "trace.json", text);
  return overview::read_trace(folder / "trace.json");
}

/// All values of an event, with its names as text, so that events of two traces can be compared.
using AnyEvent = std::tuple<std::string, std::int64_t, std::int64_t, std::uint64_t, std::uint64_t, std::string, int>;

inline std::vector<AnyEvent> events_of(const overview::Trace& trace) {
  std::vector<AnyEvent> out;
  for (const overview::HostEvent& event : trace.host) {
    const overview::HostThread& thread = trace.threads[event.thread];
    out.emplace_back(trace.names.text(event.name), event.begin, event.end, event.link, 0,
                     thread.process + "/" + thread.id, static_cast<int>(event.kind));
  }
  for (const overview::DeviceEvent& event : trace.device) {
    std::string place = std::to_string(event.device) + "/" + std::to_string(event.stream);
    if (event.blocks_per_sm >= 0) place += " blocks " + std::to_string(event.blocks_per_sm);
    if (event.occupancy >= 0) place += " occupancy " + std::to_string(event.occupancy);
    out.emplace_back(trace.names.text(event.name), event.begin, event.end, event.correlation, event.external_id, place,
                     100 + static_cast<int>(event.kind));
  }
  return out;
}

/// One event of every kind that counts, and two that do not.
inline MadeTrace one_of_each(Spelling spelling) {
  MadeTrace made(spelling);
  made.step(3, 0, 100).loader(1, 5).op("aten::conv2d", 6, 20, {.thread = 2, .link = 41});
  made.runtime("cudaLaunchKernel", 7, 9, {.thread = 2, .link = 77});
  made.kernel("gemm", 30, 60, {.correlation = 77, .external_id = 41, .blocks_per_sm = 1.5, .occupancy = 50});
  made.copy("Memcpy HtoD (Pageable -> Device)", 60, 64, {.correlation = 78, .device = 1, .stream = 20});
  made.fill(64, 65, {.correlation = 79});
  made.event(R"({"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": "python"}})");
  made.event(R"({"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 77, "pid": 100, "tid": 2, "ts": 7})");
  return made;
}

}  // namespace penstock::test
