// Sorts the fields of a sample into the schema's order before they are written into a shard.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <formats/writer.hpp>
#include <penstock/error.hpp>

namespace penstock {

class SampleOrder {
 public:
  explicit SampleOrder(std::span<const FieldSchema> fields) : count_(fields.size()) {}

  /// Valid until the next call. Throws Error: invalid_argument, in `sample`, for an unknown or duplicate field.
  std::span<const FieldValue> sorted(std::span<const FieldValue> fields, const ErrorContext& sample) {
    values_.assign(fields.begin(), fields.end());
    std::sort(values_.begin(), values_.end(), [](const auto& a, const auto& b) { return a.field < b.field; });
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool twice = i != 0 && values_[i - 1].field == values_[i].field;
      if (values_[i].field < count_ && !twice) continue;
      throw Error::invalid_argument("field " + std::to_string(values_[i].field) + " is unknown or given twice", sample);
    }
    return values_;
  }

 private:
  std::size_t count_;
  std::vector<FieldValue> values_;
};

}  // namespace penstock
