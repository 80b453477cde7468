#include "length_options.hpp"

#include <penstock/error.hpp>
#include <penstock/sampling.hpp>

namespace penstock::cli {

void LengthOptions::declare(CLI::App& command) {
  command.add_option("--bucket-by", by,
                     "Batches of like lengths: a field, or pixels:, height:, width:, shape: or bytes: and a field, or "
                     "json:MEMBER");
  command.add_option("--bucket-window", window, "Samples that are sorted by length at once")->capture_default_str();
  command.add_option(
      "--batch-budget", budget,
      "With --bucket-by: as many rows as fit, the longest one's length times the rows being at most this");
}

std::shared_ptr<const LengthBuckets> LengthOptions::made(const Dataset& dataset) const {
  if (by.empty()) {
    if (budget != 0) throw Error::invalid_argument("--batch-budget takes --bucket-by, which says what it counts");
    if (window != LengthBuckets{}.window)
      throw Error::invalid_argument("--bucket-window takes --bucket-by, which says by what lengths samples are sorted");
    return nullptr;
  }
  return bucket_by(dataset, by, {.window = window, .budget = budget});
}

}  // namespace penstock::cli
