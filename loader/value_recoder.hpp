// Packing that makes values over: the JPEG files of a batch, recoded by several threads before they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <penstock/loader/batch.hpp>
#include <penstock/loader/packed_fields.hpp>
#include <penstock/transforms/jpeg_recoder.hpp>

namespace penstock {

class ValueRecoder {
 public:
  /// `fields` is kept by reference. Throws Error: invalid_argument, for a quality or side out of range.
  ValueRecoder(const PackedFields& fields, const JpegRecoding& recoding, unsigned workers);

  /// Recodes every JPEG of the batch's rows that count; values of other fields, and bytes that are no JPEG, stay.
  void run(const Batch& batch);
  /// The bytes to write for a field's value in a row of the last batch; nothing where they stay as they are.
  /// Throws Error: corrupt, unsupported, when they could not be recoded.
  std::optional<std::span<const std::byte>> value(std::uint32_t field, std::uint32_t row) const;

 private:
  struct Made {
    bool changed = false;
    std::vector<std::byte> bytes;
    std::exception_ptr failure;
  };

  void recode(std::span<const std::byte> stored, Made& made);
  std::unique_ptr<JpegRecoder> take();
  void give_back(std::unique_ptr<JpegRecoder> recoder);

  const PackedFields& fields_;
  const JpegRecoding recoding_;
  const unsigned workers_;
  std::vector<std::uint32_t> images_;  // numbers of the fields that may hold JPEG
  std::vector<Made> made_;             // images_.size() for each row
  std::mutex mutex_;                   // guards idle_
  std::vector<std::unique_ptr<JpegRecoder>> idle_;
};

}  // namespace penstock
