#include <order/serving_field.hpp>

namespace penstock {

std::optional<std::uint32_t> serving_field(const Dataset& dataset, const Output& output, std::uint64_t sample,
                                           std::vector<Piece>& pieces) {
  for (const std::uint32_t field : output.sources) {
    if (dataset.locate(sample, field, pieces)) return field;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> filling_field(const Dataset& dataset, std::span<const Output> outputs,
                                           std::uint32_t output, std::uint64_t sample, std::vector<Piece>& pieces) {
  for (const std::uint32_t leader : outputs[output].needed_leaders)
    if (!serving_field(dataset, outputs[leader], sample, pieces)) return std::nullopt;
  return serving_field(dataset, outputs[output], sample, pieces);
}

}  // namespace penstock
