// Plans what is read for one sample: which field serves which output, by which reads, into which memory.
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
  std::uint64_t begin = 0, length = 0;          ///< in the buffer
  std::uint64_t selected = 0;                   ///< bytes of the ranges; those of the whole field, without any
  std::vector<ByteRange> ranges;                ///< empty: the whole field
  std::vector<ByteRange> widened = {};          ///< what is read in place of `ranges`, to be checked and then cut
  std::optional<SampleCache::Value> kept = {};  ///< in the cache: nothing is read
  bool pixels = false;                          ///< what is kept is an image, decoded
};

/// What fetches are planned from.
struct FetchFrom {
  const Dataset& dataset;
  const Program& program;
  FieldHeaders& headers;
  const SampleCache* cache = nullptr;  ///< null, or one that is on
  ValueChecks* checks = nullptr;       ///< likewise
  /// Storage moves pages, so records here and there are worth reading apart only where most pages are left out. False
  /// for a mapping of what is in memory.
  bool by_page = true;
  std::span<const std::string> unreadable = {};  ///< keys, sorted: samples that are not read
  bool streams = false;  ///< the slabs are larger than the caches: rows that are stored as they are go past these
};

/// Planned anew for each sample; its vectors are reused, so steady state allocates nothing.
class Fetch {
 public:
  /// Where bytes go: into the slot where the stored bytes are the row, else at `offset` of the sample's buffer.
  struct Place {
    std::byte* slot;
    std::uint64_t offset;
    std::byte* in(std::byte* buffer) const { return slot != nullptr ? slot : buffer + offset; }
  };
  struct Read {
    Extent extent;
    Place place;
    bool summed = false;  ///< its checksum is a value's, and wanted
  };
  /// A value that lies in its slot as it is stored, and is to be checked there.
  struct InSlot {
    std::uint32_t field;
    std::span<std::byte> bytes;
    std::size_t read;  ///< the one that brings all of it, or kSeveral; kOffloaded: a device does, and checks nothing
  };
  static constexpr std::size_t kSeveral = static_cast<std::size_t>(-1), kOffloaded = kSeveral - 1;
  /// A piece that is not read by the engine: inline bytes, a fill value, or a slice of a filtered block.
  struct Special {
    Piece piece;
    Place place;
  };

  /// Bytes of verbatim outputs go to their slots, and rows that the cache has to their places; what is left to a device
  /// goes nowhere; the rest is decoded from the buffer later.
  /// Throws Error: invalid_argument, when the sample has none of an output's fields; shape, when a verbatim output's
  /// stored bytes do not fill its slot; corrupt, when its key is among the unreadable ones.
  void plan(const FetchFrom& from, const SampleContext& sample, const RowSlots& slots);

  std::span<const Read> reads() const { return reads_; }
  std::span<const Special> specials() const { return specials_; }
  std::span<const InSlot> in_slots() const { return in_slots_; }
  std::span<const FieldFetch> fields() const { return {fields_.data(), used_}; }
  std::uint64_t bytes() const { return bytes_; }  ///< of the buffer
  std::uint64_t stored_bytes() const { return stored_; }
  std::uint32_t field_of(std::uint32_t output) const { return field_of_[output]; }
  /// Null when the output's bytes go straight into its slot, or there are none.
  const FieldFetch* of(std::uint32_t output) const;
  bool is_missing(std::uint32_t output) const;      ///< the sample lacks the output's field: an empty row
  std::uint32_t hits() const { return hits_; }      ///< values that the cache had
  std::uint32_t misses() const { return misses_; }  ///< and those that it had not

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
  std::size_t used_ = 0;  // entries of fields_ that belong to this sample: the others keep their memory for the next
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
