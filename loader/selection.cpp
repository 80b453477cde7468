#include <algorithm>
#include <string>

#include <penstock/formats/error.hpp>
#include <penstock/loader/fetch.hpp>
#include <penstock/loader/selection.hpp>

namespace penstock {
namespace {

bool always_served(const Dataset& dataset, const Output& output, Missing missing) {
  if (missing == Missing::empty && output.ragged && output.verbatim) return true;
  return std::any_of(output.sources.begin(), output.sources.end(),
                     [&](std::uint32_t field) { return dataset.complete(field); });
}

void require_inside(const Dataset& dataset, std::span<const std::uint64_t> subset) {
  for (const std::uint64_t sample : subset) {
    if (sample < dataset.size()) continue;
    throw Error::invalid_argument(
        "subset names sample " + std::to_string(sample) + " of a dataset of " + std::to_string(dataset.size()),
        {.dataset = dataset.path().string()});
  }
}

}  // namespace

Selection select_samples(const Dataset& dataset, const Program& program, const LoaderOptions& options) {
  const ErrorContext here{.dataset = dataset.path().string()};
  if (dataset.size() == 0) throw Error::invalid_argument("the dataset has no samples", here);
  require_inside(dataset, options.subset);
  std::vector<const Output*> doubtful;
  for (const Output& output : program.outputs()) {
    if (!always_served(dataset, output, options.missing)) doubtful.push_back(&output);
  }
  const std::uint64_t candidates = options.subset.empty() ? dataset.size() : options.subset.size();
  if (doubtful.empty()) return {.included = options.subset, .samples = candidates};

  Selection selection;
  std::vector<Piece> pieces;
  for (std::uint64_t i = 0; i < candidates; ++i) {
    const std::uint64_t sample = options.subset.empty() ? i : options.subset[i];
    const auto lacking = std::find_if(doubtful.begin(), doubtful.end(), [&](const Output* output) {
      return !serving_field(dataset, *output, sample, pieces);
    });
    if (lacking == doubtful.end()) {
      selection.included.push_back(sample);
    } else if (options.missing != Missing::exclude) {
      throw Error::invalid_argument(
          "the sample has no field for output '" + (*lacking)->name + "'; missing = exclude leaves such samples out",
          {.dataset = here.dataset, .key = std::string(dataset.key(sample))});
    }
  }
  selection.samples = selection.included.size();
  selection.excluded = candidates - selection.samples;
  if (selection.samples == 0) throw Error::invalid_argument("no sample has all requested fields", here);
  return selection;
}

std::uint64_t shuffle_block(const Dataset& dataset, const LoaderOptions& options) {
  if (options.shuffle_block) return *options.shuffle_block;
  if (dataset.block_count() == 0 || dataset.block_count() >= dataset.size()) return 0;
  return std::max<std::uint64_t>(1, dataset.size() * dataset.fields().size() / dataset.block_count());
}

}  // namespace penstock
