#include <order/serving_field.hpp>

namespace penstock {

std::optional<std::uint32_t> serving_field(const Dataset& dataset, const Output& output, std::uint64_t sample,
                                           std::vector<Piece>& pieces) {
  for (const std::uint32_t field : output.sources) {
    if (dataset.locate(sample, field, pieces)) return field;
  }
  return std::nullopt;
}

}  // namespace penstock
