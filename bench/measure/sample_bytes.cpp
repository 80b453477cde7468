#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <bench/measure/sample_bytes.hpp>
#include <formats/extent.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {
namespace {

std::vector<std::byte> first_value(const Dataset& dataset, std::uint32_t field) {
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample)
    if (dataset.locate(sample, field, pieces)) return read_field(dataset, sample, field);
  return {};
}

}  // namespace

SampleBytes sample_bytes(const Dataset& dataset, const Task& task) {
  constexpr std::uint64_t kSamples = 1024;
  const Program program(
      task.fields, {.fields = dataset.fields(),
                    .first_value = [&](std::uint32_t field, const Codec*) { return first_value(dataset, field); }});
  std::vector<std::uint32_t> fields;
  for (const Output& output : program.outputs())
    for (const std::uint32_t field : output.sources)
      if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);

  const std::uint64_t count = std::min(dataset.size(), kSamples);
  const auto mean = [&](std::span<const std::uint32_t> of) {
    double sum = 0;
    for (std::uint64_t i = 0; i < count; ++i)
      for (const std::uint32_t field : of)
        sum += static_cast<double>(dataset.length(i * dataset.size() / count, field));
    return count > 0 ? sum / static_cast<double>(count) : 0;
  };
  double files = 0;
  for (std::uint32_t file = 0; file < dataset.file_count(); ++file)
    files += static_cast<double>(dataset.file(file).size);

  SampleBytes bytes;
  bytes.stored = mean(fields);
  if (dataset.size() > 0) bytes.stored = std::min(bytes.stored, files / static_cast<double>(dataset.size()));
  for (const Output& output : program.outputs())
    bytes.delivered += output.ragged ? mean(output.sources) : static_cast<double>(output.row_bytes());
  return bytes;
}

}  // namespace penstock
