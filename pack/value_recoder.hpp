// Recodes the values of a batch with several threads before they are written.
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

#include <pack/packed_fields.hpp>
#include <penstock/loader/batch/batch.hpp>
#include <penstock/pack/recoding.hpp>

namespace penstock {

class ValueRecoder {
 public:
  /// `fields` is kept by reference. Throws Error: invalid_argument, for options out of range.
  ValueRecoder(const PackedFields& fields, const Recoding& recoding, unsigned workers);

  /// Makes over the values of the batch's rows that count, where there is anything to be done.
  void run(const Batch& batch);
  /// The bytes to write for a field's value in a row of the last batch; nothing where they stay as they are.
  /// Throws Error: corrupt, unsupported, when they could not be recoded.
  std::optional<std::span<const std::byte>> value(std::uint32_t field, std::uint32_t row) const;
  /// How many values stayed JPEG files though they were to be recoded, by the reason; of all batches so far.
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
  std::vector<std::uint32_t> taken_;  // numbers of the fields whose values may change
  std::vector<Made> made_;            // taken_.size() for each row
  std::mutex mutex_;                  // guards idle_ and kept_
  std::map<std::string, std::uint64_t> kept_;
  std::vector<std::unique_ptr<FieldRecoder>> idle_;
};

}  // namespace penstock
