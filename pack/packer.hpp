// Takes a loader's batches apart and hands their samples to the writer of a dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <formats/packed/dataset_writer.hpp>
#include <pack/packed_fields.hpp>
#include <pack/value_recoder.hpp>
#include <penstock/formats/dataset.hpp>
#include <penstock/loader/batch/batch.hpp>
#include <penstock/record/time/stats.hpp>

namespace penstock {

/// The samples that this process packs.
struct Share {
  std::vector<std::uint64_t> samples = {};  ///< in bytewise order of keys
  std::vector<std::uint64_t> begins = {};   ///< positions in `samples` where planned shards begin; empty: as they fill
  std::uint64_t first_shard = 0;            ///< number of the first planned one
};

class Packer {
 public:
  /// `position` is that of the next sample in the share. Samples that are no good are reported to the writer when
  /// `skip_bad`; else they raise. References are kept.
  /// `recoder` may be null.
  Packer(const Dataset& source, const PackedFields& fields, const Share& share, std::uint64_t position,
         DatasetWriter& writer, bool skip_bad, ValueRecoder* recoder = nullptr);

  /// The batch's rows are the next samples of the share, each field raw and named as it is packed.
  void add(const Batch& batch);

  std::uint64_t samples() const { return samples_; }
  const std::vector<BadSample>& bad() const { return bad_; }  ///< the first 1,000

 private:
  void begin_planned_shard();
  void skip(const BadSample& bad);
  void take_apart(const Batch& batch, std::uint32_t row);  // into values_
  std::optional<std::span<const std::byte>> value(const Batch& batch, std::uint32_t row, std::uint64_t sample,
                                                  std::uint32_t number);
  void add_value(std::uint32_t number, std::span<const std::byte> bytes);

  const Dataset& source_;
  const PackedFields& fields_;
  const Share& share_;
  std::size_t next_shard_;  // in share_.begins
  std::uint64_t position_;  // in share_.samples
  DatasetWriter& writer_;
  const bool skip_bad_;
  ValueRecoder* const recoder_;
  std::uint64_t samples_ = 0;
  std::vector<BadSample> bad_;
  std::vector<FieldValue> values_;
  std::vector<std::vector<std::byte>> headers_;
  std::vector<Piece> pieces_;
  std::string scratch_;
};

}  // namespace penstock
