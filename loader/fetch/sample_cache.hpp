// A cache of samples' values for later epochs. It fills up to a limit and never drops a value. It lies in memory of its
// own, or in memory that processes of the node share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <base/memory.hpp>
#include <loader/node_memory/origin.hpp>
#include <penstock/stats.hpp>
#include <penstock/storage.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

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

  /// `samples` are those of the dataset. `origin`, where it is given: what the values are made of; then the processes
  /// of the node for which all of this is the same share one cache. Where that is refused it is this process's alone,
  /// and note() says why. Throws Error: invalid_argument, when `limit_bytes` does not hold the table of the samples;
  /// resource.
  SampleCache(CacheKind kind, std::uint64_t limit_bytes, std::uint64_t samples, const Program& program,
              std::optional<Origin> origin = std::nullopt);
  ~SampleCache();

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
  std::string note() const;  ///< what sharing came to, where that is not as it should be; for people

 private:
  struct Kept {
    std::uint32_t output;  ///< of rows
    std::uint32_t field;
    Keep keep;
    Pixels pixels = Pixels::rgb;  ///< of Keep::pixels
    std::uint64_t row_bytes = 0;  ///< of Keep::row
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  struct Shared;
  Column column(const Kept& kept);
  void lay_columns(const Program& program);
  void share(std::uint64_t limit_bytes, std::uint64_t samples, Origin origin);
  std::uint64_t place(std::uint64_t sample, Column column) const { return sample * columns_.size() + column; }
  std::atomic_ref<std::uint64_t> entry(std::uint64_t place) const { return std::atomic_ref(table_[place]); }
  bool is_free(std::uint64_t entry) const;
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  Value value_at(std::uint64_t at) const;
  bool is_sound(std::uint64_t place, Column column, std::uint64_t at, bool& of_others) const;
  std::optional<Value> believed(std::uint64_t place, Column column, std::uint64_t at, bool& of_others) const;

  CacheKind kind_;
  bool rows_alone_ = false;
  std::vector<Kept> columns_;
  std::vector<Column> rows_;                                           // by output
  std::vector<std::vector<std::pair<std::uint32_t, Column>>> values_;  // by output: field and column
  std::uint64_t capacity_ = 0, header_bytes_ = 0;
  std::uint64_t claim_ = 0;         // what an entry says that is being filled by this cache
  std::uint64_t* table_ = nullptr;  // a place for each sample and column, see sample_cache.cpp
  std::byte* memory_ = nullptr;     // of the values
  Memory own_table_, own_memory_;   // either these
  std::unique_ptr<Shared> shared_;  // or the node's
  std::string refused_;             // why it is not the node's
  std::atomic<std::uint64_t> own_used_{0}, own_count_{0}, hits_{0}, misses_{0};  // relaxed: sums, they order nothing
  std::atomic<std::uint64_t>*used_ = &own_used_, *count_ = &own_count_;
};

}  // namespace penstock
