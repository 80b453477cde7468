// Counts the batches that the consumer holds, in host or device memory.
#pragma once

#include <cstdint>

namespace penstock {

struct BatchRecord;

/// The memory of the batches that a stage hands on. Thread-safe, except allow_held().
class BatchPool {
 public:
  virtual ~BatchPool() = default;
  virtual unsigned lent() const = 0;  ///< batches that the consumer holds
  /// Passes a batch of the pool to the consumer. Does nothing if the consumer already has it.
  virtual void hand_over(const BatchRecord* batch) = 0;
  /// Raises the number of batches that the consumer may hold to `held` and adds memory for them. Does nothing if the
  /// limit is already higher. Not thread-safe: the caller serialises calls. Throws Error: resource, if memory runs
  /// out; the pool is then unchanged.
  virtual void allow_held(unsigned held) = 0;
  virtual std::uint64_t bytes_to_add() const = 0;  ///< memory that allow_held() may still allocate
};

}  // namespace penstock
