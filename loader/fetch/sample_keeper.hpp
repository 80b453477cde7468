// A worker's access to the sample cache: decides which values of a sample to keep, and restores kept values.
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
  /// All arguments must outlive this object. `parallel` has the same meaning as for SlotFiller.
  SampleKeeper(const Program& program, SampleCache& cache, Parallel* parallel = nullptr);

  /// Returns the bytes that an output is filled from: the kept value or `read`. Offers `read` to the cache. If the
  /// cache keeps pixels, the whole image is decoded here and the output uses these pixels, too. The result is valid
  /// until the next call.
  FieldBytes value(std::uint64_t sample, std::uint32_t output, const FieldFetch& fetch, const FieldBytes& read);
  /// Offers a finished row of `field` to the cache.
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
