#include <algorithm>
#include <vector>

#include <formats/extent.hpp>
#include <loader/batch/sample_values.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kBytesOfBatch = 1 << 20, kRowsOfBatch = 2048, kLookedAt = 1000;
constexpr std::uint64_t kTickEvery = 4096;

}  // namespace

LoaderOptions reading(const Dataset& dataset, std::span<const std::uint32_t> fields) {
  LoaderOptions options;
  options.missing = Missing::empty;
  options.publish = false;
  std::uint64_t bytes = 0;
  const std::uint64_t looked = std::min(dataset.size(), kLookedAt);
  for (const std::uint32_t field : fields) {
    options.transforms.emplace_back(dataset.fields()[field].name, raw());
    for (std::uint64_t sample = 0; sample < looked; ++sample) bytes += dataset.length(sample, field);
  }
  const std::uint64_t mean = std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, looked));
  options.batch_size = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kBytesOfBatch / mean, 1, kRowsOfBatch));
  return options;
}

void for_each_row(const Dataset& dataset, std::span<const std::uint32_t> fields,
                  const std::function<std::optional<Batch>()>& next,
                  const std::function<void(const SampleValues&)>& take) {
  std::vector<std::optional<std::span<const std::byte>>> values(fields.size());
  std::vector<Piece> pieces;
  while (const std::optional<Batch> batch = next()) {
    for (std::uint32_t row = 0; row < batch->size(); ++row) {
      const std::uint64_t sample = batch->samples()[row];
      for (std::size_t i = 0; i < fields.size(); ++i) {
        const Field& column = (*batch)[dataset.fields()[fields[i]].name];
        const auto begin = static_cast<std::size_t>(column.offsets[row]);
        const auto end = static_cast<std::size_t>(column.offsets[row + 1]);
        values[i].reset();
        if (end != begin || dataset.locate(sample, fields[i], pieces))
          values[i] = column.as<std::byte>().subspan(begin, end - begin);
      }
      take({.sample = sample, .key = batch->keys()[row], .values = values});
    }
  }
}

void for_each_key(const Dataset& dataset, const std::function<void(const SampleValues&)>& take,
                  const std::function<void()>& tick) {
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    if (tick && sample % kTickEvery == 0) tick();
    take({.sample = sample, .key = dataset.key(sample), .values = {}});
  }
}

}  // namespace penstock
