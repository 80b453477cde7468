// Counts requests to a store.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock {

/// Sums over complete answers, of bytes and of seconds from sending the request to the last byte. A linear fit of the
/// seconds to the bytes can be computed from them.
struct AnswerSums {
  std::uint64_t count = 0;
  double bytes = 0, seconds = 0, bytes_bytes = 0, bytes_seconds = 0;
  void add(double of_bytes, double took) {
    ++count;
    bytes += of_bytes;
    seconds += took;
    bytes_bytes += of_bytes * of_bytes;
    bytes_seconds += of_bytes * took;
  }
  AnswerSums& operator+=(const AnswerSums& other) {
    count += other.count;
    bytes += other.bytes;
    seconds += other.seconds;
    bytes_bytes += other.bytes_bytes;
    bytes_seconds += other.bytes_seconds;
    return *this;
  }
  AnswerSums& operator-=(const AnswerSums& before) {
    count -= before.count;
    bytes -= before.bytes;
    seconds -= before.seconds;
    bytes_bytes -= before.bytes_bytes;
    bytes_seconds -= before.bytes_seconds;
    return *this;
  }
  friend bool operator==(const AnswerSums&, const AnswerSums&) = default;
};

/// Counters of requests.
struct StoreCounts {
  std::uint64_t requests = 0;         ///< sent, including retries and hedges
  std::uint64_t bytes = 0;            ///< of the bodies received
  std::uint64_t retries = 0;          ///< requests sent again after a failure
  std::uint64_t hedges = 0;           ///< requests sent a second time because the first one was slow
  std::uint64_t connections = 0;      ///< connections made
  std::chrono::nanoseconds waited{};  ///< summed over requests, from sending to the last byte
  AnswerSums answers = {};
  StoreCounts& operator+=(const StoreCounts& other) {
    requests += other.requests;
    bytes += other.bytes;
    retries += other.retries;
    hedges += other.hedges;
    connections += other.connections;
    waited += other.waited;
    answers += other.answers;
    return *this;
  }
  friend bool operator==(const StoreCounts&, const StoreCounts&) = default;
};

}  // namespace penstock
