// A cache of samples' values for later epochs. It fills up to a limit and never drops a value. Its memory is private,
// or shared by processes of the node.
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

/// The cache never evicts. An epoch visits each sample once, so an evicted value would be missed before the newer one
/// is used again. Lookup and insertion are thread-safe and never wait.
class SampleCache {
 public:
  /// One kind of value that every sample has: the row of an output, or a field's bytes or pixels. row_of() and
  /// value_of() return its number.
  using Column = std::uint32_t;
  static constexpr Column kNone = ~Column{0};

  /// A kept value. For pixels, it has the image's height, width and channels; otherwise these are zero.
  struct Value {
    std::span<const std::byte> bytes;  ///< readers may read 64 bytes past the end
    std::uint32_t height, width, channels;
  };

  /// `samples` is the number of samples in the dataset. `origin`, if given, identifies what the values are derived
  /// from; processes of the node with the same origin and the same options share one cache. If sharing fails, the
  /// cache is private and note() contains the reason. Throws Error: invalid_argument, if `limit_bytes` cannot hold
  /// the table of the samples; resource.
  SampleCache(CacheKind kind, std::uint64_t limit_bytes, std::uint64_t samples, const Program& program,
              std::optional<Origin> origin = std::nullopt);
  ~SampleCache();

  bool on() const { return kind_ != CacheKind::none; }
  /// Returns true if the cache keeps the rows of all outputs. A sample seen once then needs no plan, reads or
  /// filling.
  bool rows_alone() const { return rows_alone_; }
  /// Returns the column of the output's rows, or kNone.
  Column row_of(std::uint32_t output) const { return rows_[output]; }
  /// Returns the column of a field that is a source of the output, if the row is not kept instead. Otherwise returns
  /// kNone.
  Column value_of(std::uint32_t output, std::uint32_t field) const;
  /// Whether the column holds pixels.
  bool holds_pixels(Column column) const { return columns_[column].keep == Keep::pixels; }

  std::optional<Value> find(std::uint64_t sample, Column column) const;
  /// Copies a column's rows of `samples` to `rows`, one after the other. Each has `row_bytes`, the size of every row
  /// of the output. A row that is not kept is left unchanged and gets a 1 in `missing`.
  void copy_rows(Column column, std::span<const std::uint64_t> samples, std::byte* rows, std::uint64_t row_bytes,
                 std::span<std::uint8_t> missing) const;
  /// Returns true if keep() of that value may succeed: the value is absent and there was room.
  bool wants(std::uint64_t sample, Column column) const;
  /// Copies the value into the cache, if there is room and no other thread is doing so.
  void keep(std::uint64_t sample, Column column, const Value& value);
  /// Marks a value that cannot be kept, so that wants() returns false for it.
  void give_up(std::uint64_t sample, Column column);

  void count(std::uint64_t hits, std::uint64_t misses);
  CacheStats stats() const;
  std::string note() const;  ///< problems with sharing, as text for people; empty without problems

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
  std::vector<std::vector<std::pair<std::uint32_t, Column>>> values_;  // by output: pairs of field and column
  std::uint64_t capacity_ = 0, header_bytes_ = 0;
  std::uint64_t claim_ = 0;         // the entry's value while this cache fills it
  std::uint64_t* table_ = nullptr;  // one entry for each sample and column, see sample_cache.cpp
  std::byte* memory_ = nullptr;     // of the values
  Memory own_table_, own_memory_;   // used by a private cache
  std::unique_ptr<Shared> shared_;  // used by a shared cache
  std::string refused_;             // why the cache is not shared
  std::atomic<std::uint64_t> own_used_{0}, own_count_{0}, hits_{0}, misses_{0};  // relaxed: sums order nothing
  std::atomic<std::uint64_t>*used_ = &own_used_, *count_ = &own_count_;
};

}  // namespace penstock
