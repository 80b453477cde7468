// Plans the reads of one sample: the field that serves each output, the reads for it, and the memory for the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <formats/extent.hpp>
#include <loader/fetch/field_headers.hpp>
#include <loader/fetch/sample_cache.hpp>
#include <loader/fetch/value_checks.hpp>
#include <penstock/dataset.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

struct RowSlots;  // loader/batch/row_slots.hpp

/// The bytes of one field in a sample's buffer: all of them, or the ranges that its codec selected.
struct FieldFetch {
  std::uint32_t field = 0;
  std::uint64_t begin = 0, length = 0;  ///< in the buffer
  std::uint64_t selected = 0;           ///< bytes of the ranges, or of the whole field without ranges
  std::vector<ByteRange> ranges;        ///< empty: the whole field
  /// Wider ranges to read instead of `ranges`, so that checksums cover them; cut afterwards.
  std::vector<ByteRange> widened = {};
  std::optional<SampleCache::Value> kept = {};  ///< from the cache: nothing is read
  bool pixels = false;                          ///< the cache keeps the decoded image
};

/// The inputs of a plan.
struct FetchFrom {
  const Dataset& dataset;
  const Program& program;
  FieldHeaders& headers;
  const SampleCache* cache = nullptr;  ///< null, or one that is on
  ValueChecks* checks = nullptr;       ///< null, or checks that are on
  /// Storage moves whole pages, so scattered records are only worth reading separately if most pages are skipped.
  /// False for mapped data that is already in memory.
  bool by_page = true;
  std::span<const std::string> unreadable = {};  ///< sorted keys of samples that must not be read
  bool streams = false;  ///< the slabs are larger than the CPU caches: rows copied as stored bypass these caches
};

/// Planned again for each sample. The vectors are reused, so that a plan allocates nothing in the steady state.
class Fetch {
 public:
  /// Destination of bytes: the slot if the stored bytes are the row, else `offset` in the sample's buffer.
  struct Place {
    std::byte* slot;
    std::uint64_t offset;
    std::byte* in(std::byte* buffer) const { return slot != nullptr ? slot : buffer + offset; }
  };
  struct Read {
    Extent extent;
    Place place;
    bool summed = false;  ///< compute its checksum, because the read is a whole value to check
  };
  /// A value that is stored in its slot as it is, and is checked there.
  struct InSlot {
    std::uint32_t field;
    std::span<std::byte> bytes;
    /// The read that brings all of it, or kSeveral; kOffloaded: a device reads it, and nothing is checked.
    std::size_t read;
  };
  static constexpr std::size_t kSeveral = static_cast<std::size_t>(-1), kOffloaded = kSeveral - 1;
  /// A piece that the engine does not read: inline bytes, a fill value, or a slice of a filtered block.
  struct Special {
    Piece piece;
    Place place;
  };

  /// Plans the reads of a sample. Stored bytes of verbatim outputs go to their slots. Rows from the cache are copied
  /// to their places at once. Values for a device are not read. Everything else goes to the buffer and is decoded
  /// later.
  /// Throws Error: invalid_argument, if the sample has none of an output's fields; shape, if a verbatim output's
  /// stored bytes do not fill its slot; corrupt, if its key is among the unreadable ones.
  void plan(const FetchFrom& from, const SampleContext& sample, const RowSlots& slots);

  std::span<const Read> reads() const { return reads_; }
  std::span<const Special> specials() const { return specials_; }
  std::span<const InSlot> in_slots() const { return in_slots_; }
  std::span<const FieldFetch> fields() const { return {fields_.data(), used_}; }
  std::uint64_t bytes() const { return bytes_; }  ///< of the buffer
  std::uint64_t stored_bytes() const { return stored_; }
  std::uint32_t field_of(std::uint32_t output) const { return field_of_[output]; }
  /// Returns null if the output's bytes go directly into its slot, or if it has no bytes.
  const FieldFetch* of(std::uint32_t output) const;
  bool is_missing(std::uint32_t output) const;      ///< the sample lacks the output's field
  std::uint32_t hits() const { return hits_; }      ///< values found in the cache
  std::uint32_t misses() const { return misses_; }  ///< values that were missing there

 private:
  bool is_offloaded(const RowSlots& slots, std::uint32_t output) const;
  bool add_row(const FetchFrom& from, std::uint32_t output, const SampleContext& sample, std::span<std::byte> slot);
  bool add_kept(const FetchFrom& from, std::uint32_t output, std::uint32_t field, const SampleContext& sample,
                std::span<std::byte> slot);
  void copy(std::span<const std::byte> bytes, std::byte* slot);
  void add(const FetchFrom& from, std::uint32_t output, std::uint32_t field, const SampleContext& sample);
  bool shares_with_leader(const FetchFrom& from, std::uint32_t output, std::uint32_t field);
  bool is_kept_whole(const FetchFrom& from, std::uint32_t output, std::uint32_t field,
                     const SampleContext& sample) const;
  void select(const FetchFrom& from, std::uint32_t output, const FieldHeader& header, const SampleContext& sample);
  void place(std::span<const Piece> pieces, std::byte* slot, std::uint64_t offset);
  void place_ranges(std::uint64_t begin, std::span<const ByteRange> ranges, const Piece& piece);
  void check_in_slot(const FetchFrom& from, std::uint64_t sample, std::uint32_t field, std::span<std::byte> slot);

  std::vector<FieldFetch> fields_;
  std::size_t used_ = 0;  // entries of fields_ in use for this sample; the others keep their memory for later samples
  std::vector<std::uint32_t> field_of_;
  std::vector<std::uint32_t> fetch_of_;
  std::vector<Read> reads_;
  std::vector<Special> specials_;
  std::vector<InSlot> in_slots_;
  std::vector<Piece> pieces_;
  std::vector<ByteRange> ranges_;
  std::vector<std::byte> header_;
  std::uint64_t bytes_ = 0, stored_ = 0;
  std::uint32_t hits_ = 0, misses_ = 0;
};

}  // namespace penstock
