// Takes the samples out of a loader's batches and passes them to the writer of a dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/extent.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <pack/array_rows.hpp>
#include <pack/packed_fields.hpp>
#include <pack/recoding.hpp>
#include <penstock/batch.hpp>
#include <penstock/dataset.hpp>
#include <penstock/pack.hpp>
#include <penstock/stats.hpp>

namespace penstock {

/// Recodes the values of a batch with several threads before they are written.
class ValueRecoder {
 public:
  /// Keeps a reference to `fields`. Throws Error: invalid_argument, if an option is out of range.
  ValueRecoder(const PackedFields& fields, const Recoding& recoding, unsigned workers);

  /// Recodes the values of the batch's valid rows, if any field is to be recoded.
  void run(const Batch& batch);
  /// Returns the recoded bytes of a field in a row of the last batch, or nothing if the value stays as stored.
  /// Throws Error: corrupt, unsupported, if the value could not be recoded.
  std::optional<std::span<const std::byte>> value(std::uint32_t field, std::uint32_t row) const;
  /// Number of values, over all batches so far, that were to be recoded but stayed JPEG files, by reason.
  const std::map<std::string, std::uint64_t>& kept() const { return kept_; }

 private:
  struct Made {
    bool changed = false;
    std::vector<std::byte> bytes;
    std::exception_ptr failure;
  };

  void recode(std::uint32_t field, std::string_view key, std::span<const std::byte> stored, Made& made);
  void count_kept(std::string_view reason);
  std::unique_ptr<FieldRecoder> take();
  void give_back(std::unique_ptr<FieldRecoder> recoder);

  const PackedFields& fields_;
  const Recoding recoding_;
  const unsigned workers_;
  std::vector<std::uint32_t> taken_;  // numbers of the fields that are recoded
  std::vector<Made> made_;            // taken_.size() entries for each row
  std::mutex mutex_;                  // guards idle_ and kept_
  std::map<std::string, std::uint64_t> kept_;
  std::vector<std::unique_ptr<FieldRecoder>> idle_;
};

/// The samples that this process packs.
struct Share {
  std::vector<std::uint64_t> samples = {};  ///< in bytewise order of keys
  /// Positions in `samples` where planned shards begin. If empty, a shard ends when it is full.
  std::vector<std::uint64_t> begins = {};
  std::uint64_t first_shard = 0;  ///< number of the first planned shard
};

class Packer {
 public:
  /// `position` is the position of the next sample in the share. With `skip_bad`, invalid samples are reported to the
  /// writer; otherwise they raise. Keeps references to the arguments. `recoder` may be null.
  Packer(const Dataset& source, const PackedFields& fields, const Share& share, std::uint64_t position,
         DatasetWriter& writer, bool skip_bad, ValueRecoder* recoder = nullptr);

  /// Adds the rows of a batch. They must be the next samples of the share, with raw fields named as they are packed.
  void add(const Batch& batch);

  std::uint64_t samples() const { return samples_; }
  const std::vector<BadSample>& bad() const { return bad_; }  ///< the first 1,000

 private:
  void begin_planned_shard();
  void skip(const BadSample& bad);
  void take_apart(const Batch& batch, std::uint32_t row);  // fills values_
  std::optional<std::span<const std::byte>> value(const Batch& batch, std::uint32_t row, std::uint64_t sample,
                                                  std::uint32_t number);
  void add_value(std::uint32_t number, std::span<const std::byte> bytes);

  const Dataset& source_;
  const PackedFields& fields_;
  const Share& share_;
  std::size_t next_shard_;  // index into share_.begins
  std::uint64_t position_;  // index into share_.samples
  DatasetWriter& writer_;
  const bool skip_bad_;
  ValueRecoder* const recoder_;
  std::uint64_t samples_ = 0;
  std::vector<BadSample> bad_;
  std::vector<FieldValue> values_;
  std::vector<std::vector<std::byte>> headers_;
  std::vector<Piece> pieces_;
  ArrayConverter arrays_;
  std::vector<std::vector<std::byte>> made_;  // of each field: the last value, if it is not the source's
};

}  // namespace penstock
