#include "length_options.hpp"

#include <penstock/error.hpp>
#include <penstock/sampling.hpp>

namespace penstock::cli {

void LengthOptions::declare(CLI::App& command) {
  command.add_option(
      "--bucket-by", by,
      "Batch samples of similar length. The length is a field; pixels:, height:, width:, shape: or bytes: and a "
      "field; or json:MEMBER");
  command.add_option("--bucket-window", window, "Number of samples that are sorted by length together")
      ->capture_default_str();
  command.add_option(
      "--batch-budget", budget,
      "With --bucket-by: limit for the longest length in a batch times its rows; a batch has as many rows as fit");
}

std::shared_ptr<const LengthBuckets> LengthOptions::made(const Dataset& dataset) const {
  if (by.empty()) {
    if (budget != 0)
      throw Error::invalid_argument("--batch-budget requires --bucket-by, which defines the lengths to count");
    if (window != LengthBuckets{}.window)
      throw Error::invalid_argument("--bucket-window requires --bucket-by, which defines the lengths to sort by");
    return nullptr;
  }
  return bucket_by(dataset, by, {.window = window, .budget = budget});
}

}  // namespace penstock::cli
