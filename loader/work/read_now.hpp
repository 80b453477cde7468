// Reads in the calling thread and records the time.
#pragma once

#include <span>

#include <record/time/read_record.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// The requests have `bytes` bytes in total. `record`: null to record nothing.
inline void read_now(ReadEngine& synchronous, std::span<const ReadRequest> requests, std::uint64_t bytes,
                     ReadRecord* record) {
  if (record == nullptr) return synchronous.submit(requests);
  const ReadSpan span = record->begin(bytes, Clock::now());
  synchronous.submit(requests);
  record->end(span, Clock::now());
}

}  // namespace penstock
