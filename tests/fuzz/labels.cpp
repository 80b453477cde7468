#include <array>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/labels/labels.hpp>
#include <penstock/error.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

Dataset samples() {
  IndexBuilder builder;
  const std::uint32_t field = builder.field({.name = "txt", .codec = "txt"});
  for (const std::string_view key : {"a", "b", "c/d", "c/e"}) {
    builder.add_sample(key);
    builder.set(field, std::span<const Piece>());
  }
  std::vector<Dataset::Shard> shards;
  shards.push_back({.index = std::move(builder).finish(), .root = folder(), .name = "shard"});
  return Dataset(folder(), "tar", std::move(shards), {}, false);
}

}  // namespace

// The first byte chooses the kind of file.
void labels(Input input) {
  static const Dataset dataset = samples();
  static const std::vector<std::string> classes{"cat", "dog"};
  static constexpr std::array kNames{"labels.csv", "labels.tsv",   "labels.json",
                                     "labels.txt", "labels.jsonl", "labels.pkl"};
  if (input.empty()) return;
  const auto first = std::to_integer<std::size_t>(input[0]);
  const std::filesystem::path file = as_file(input.subspan(1), kNames[first % kNames.size()]);
  try {
    read_classes(file);
  } catch (const Error&) {
  }
  const std::string column = first < 64 ? "" : ":label";
  const Labels labels =
      read_labels(file.string() + column, dataset, first % 8 < 4 ? std::span<const std::string>() : classes);
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) labels.of(sample);
}

}  // namespace penstock::fuzz
