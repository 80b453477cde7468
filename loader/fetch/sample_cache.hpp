// A cache of samples' values for later epochs. It fills up to a limit and never drops a value.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <penstock/base/memory.hpp>
#include <penstock/loader/cache_kind.hpp>
#include <penstock/loader/time/stats.hpp>
#include <penstock/transforms/program/program.hpp>

namespace penstock {

/// Nothing is ever thrown out: an epoch visits each sample once, so that what was thrown out to make room would be
/// missed before it is wanted again. Any number of threads may look up and keep; neither waits for anything.
class SampleCache {
 public:
  /// One value of each sample: the row of an output, or a field's bytes or pixels. `of(output)` tells which.
  using Column = std::uint32_t;
  static constexpr Column kNone = ~Column{0};

  /// A kept value. Of pixels, the image's height, width and channels; zeros otherwise.
  struct Value {
    std::span<const std::byte> bytes;  ///< 64 bytes may be looked at behind them
    std::uint32_t height, width, channels;
  };

  /// `samples` are those of the dataset. Throws Error: invalid_argument, when `limit_bytes` does not hold the table of
  /// the samples; resource.
  SampleCache(CacheKind kind, std::uint64_t limit_bytes, std::uint64_t samples, const Program& program);

  bool on() const { return kind_ != CacheKind::none; }
  /// True where every output has its row in the cache once its sample was seen: no plan, no reads, no filling.
  bool rows_alone() const { return rows_alone_; }
  /// Of an output's row, or kNone.
  Column row_of(std::uint32_t output) const { return rows_[output]; }
  /// Of a field of an output, one of its sources, where it is not the row that is kept; or kNone.
  Column value_of(std::uint32_t output, std::uint32_t field) const;
  /// Whether that column holds pixels.
  bool holds_pixels(Column column) const { return columns_[column].keep == Keep::pixels; }

  std::optional<Value> find(std::uint64_t sample, Column column) const;
  /// Copies a column's rows of `samples` to `rows`, one behind the other, each `row_bytes` long as all of an output
  /// are. Those that are not kept are left as they are, and get a 1 in `missing`.
  void copy_rows(Column column, std::span<const std::uint64_t> samples, std::byte* rows, std::uint64_t row_bytes,
                 std::span<std::uint8_t> missing) const;
  /// True where keep() of that value may succeed: it is not there, and there was room.
  bool wants(std::uint64_t sample, Column column) const;
  /// Copies the value into the cache, if there is room and nobody else does so now.
  void keep(std::uint64_t sample, Column column, const Value& value);
  /// This value is not to be asked for again: it cannot be kept.
  void give_up(std::uint64_t sample, Column column);

  void count(std::uint64_t hits, std::uint64_t misses);
  CacheStats stats() const;

 private:
  struct Kept {
    std::uint32_t output;  ///< of rows
    std::uint32_t field;
    Keep keep;
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  Column column(const Kept& kept);
  std::atomic_ref<std::uint64_t> entry(std::uint64_t sample, Column column) const;

  CacheKind kind_;
  bool rows_alone_ = false;
  std::vector<Kept> columns_;
  std::vector<Column> rows_;                                           // by output
  std::vector<std::vector<std::pair<std::uint32_t, Column>>> values_;  // by output: field and column
  std::uint64_t capacity_ = 0;
  Memory table_;  // a place for each sample and column, see sample_cache.cpp
  Memory values_memory_;
  std::atomic<std::uint64_t> used_{0}, count_{0}, hits_{0}, misses_{0};  // relaxed: sums, they order nothing
};

}  // namespace penstock
