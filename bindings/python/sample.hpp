// A sample of a dataset, for Python.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <formats/extent.hpp>
#include <penstock/dataset.hpp>

namespace penstock::python {

/// Values that were read before the program asks for them, while a user function processes one sample after another;
/// and the fields that it reads. Guarded by the interpreter.
struct ReadAhead {
  std::vector<std::uint32_t> asked = {};   ///< fields, in the order they were first asked for
  std::vector<std::uint32_t> fields = {};  ///< fields of `values`
  std::span<const std::optional<std::span<const std::byte>>> values = {};

  std::optional<std::span<const std::byte>> value(std::uint32_t field) {
    if (std::ranges::find(asked, field) == asked.end()) asked.push_back(field);
    const auto found = std::ranges::find(fields, field);
    const auto place = static_cast<std::size_t>(found - fields.begin());
    return place < values.size() ? values[place] : std::nullopt;
  }
};

/// A sample whose fields are read on access.
struct Sample {
  Dataset dataset;
  std::uint64_t number;
  std::shared_ptr<ReadAhead> ahead;  ///< set only while a function is called with samples

  bool has(std::uint32_t field) const {
    std::vector<Piece> pieces;
    return dataset.locate(number, field, pieces);
  }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> found;
    for (std::uint32_t i = 0; i < dataset.fields().size(); ++i)
      if (has(i)) found.push_back(dataset.fields()[i].name);
    return found;
  }
};

}  // namespace penstock::python
