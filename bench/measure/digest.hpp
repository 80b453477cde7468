// A hash of everything a loader delivers in one epoch: equal runs have equal digests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <device/device.hpp>
#include <penstock/batch.hpp>

namespace penstock {

/// XXH64 of a stream of bytes. Source: "xxHash fast digest algorithm", doc/xxhash_spec.md of the xxHash project, 0.1.1.
class Hash64 {
 public:
  explicit Hash64(std::uint64_t seed = 0);
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;  ///< hash of all bytes added so far

 private:
  void consume(const std::byte* stripe);

  std::uint64_t seed_, total_ = 0;
  std::array<std::uint64_t, 4> lanes_;
  std::array<std::byte, 32> pending_{};  ///< total_ % 32 bytes that do not fill a stripe yet
};

/// Adds the batch in order: its keys, the validity of its rows, and for every output its name, dtype, shape, offsets
/// and values. `device` holds the values if they are not in host memory; the call then waits for them.
void add_batch(Hash64& hash, const Batch& batch, Device* device = nullptr);

}  // namespace penstock
