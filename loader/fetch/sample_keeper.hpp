// A worker's side of the sample cache: it decides what of a sample is kept, and restores what was.
#pragma once

#include <cstdint>
#include <span>

#include <loader/fetch/fetch.hpp>
#include <loader/fetch/sample_cache.hpp>
#include <record/time/stage_clock.hpp>
#include <transforms/decoders.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// One per worker thread.
class SampleKeeper {
 public:
  /// All must outlive it. `parallel`: as of SlotFiller.
  SampleKeeper(const Program& program, SampleCache& cache, Parallel* parallel = nullptr);

  /// The bytes that an output is filled from: the kept value, or `read`, of which the cache takes what it wants. Where
  /// that is pixels they are decoded here, whole, and serve the output too. Valid until the next call.
  FieldBytes value(std::uint64_t sample, std::uint32_t output, const FieldFetch& fetch, const FieldBytes& read);
  /// Offers a row that has been written, `field` behind it.
  void row(std::uint64_t sample, std::uint32_t output, std::uint32_t field, std::span<const std::byte> row);

  nanoseconds decode_time() const { return decode_time_; }

 private:
  FieldBytes decoded(std::uint64_t sample, SampleCache::Column column, Pixels pixels, const FieldBytes& read);
  FieldBytes as_pixels(const FieldSchema& schema, const SampleCache::Value& value);

  const Program& program_;
  SampleCache& cache_;
  Decoders rgb_{{.pixels = Pixels::rgb}}, stored_{{.pixels = Pixels::stored}};
  ScratchMemory pixels_;
  FieldSchema schema_;  // of decoded values: raw uint8 (H, W, C)
  nanoseconds decode_time_{};
};

}  // namespace penstock
