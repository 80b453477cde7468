// Counts the batches that the consumer holds, whatever memory they lie in.
#pragma once

#include <cstdint>

namespace penstock {

struct BatchRecord;

/// The memory of the batches that a stage hands on. From any thread, but allow_held().
class BatchPool {
 public:
  virtual ~BatchPool() = default;
  virtual unsigned lent() const = 0;  ///< in the consumer's hands
  /// A batch of the pool comes into the consumer's hands; nothing where it is there already.
  virtual void hand_over(const BatchRecord* batch) = 0;
  /// Lets the consumer hold so many batches, where that is more than it may already: adds memory for them. One thread
  /// at a time. Throws Error: resource, when there is no memory for them; the pool is then as before.
  virtual void allow_held(unsigned held) = 0;
  virtual std::uint64_t bytes_to_add() const = 0;  ///< that allow_held() may still take
};

}  // namespace penstock
