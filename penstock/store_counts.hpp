// Counts of what a store was asked for.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock {

/// Sums over requests that brought all they were asked for, of bytes and of seconds from sending to the last byte: they
/// tell how the one goes with the other.
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

/// Of requests.
struct StoreCounts {
  std::uint64_t requests = 0;         ///< sent, those again among them
  std::uint64_t bytes = 0;            ///< of bodies that came
  std::uint64_t retries = 0;          ///< requests sent again after a failure
  std::uint64_t hedges = 0;           ///< requests sent a second time since the first one was slow
  std::uint64_t connections = 0;      ///< made
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
