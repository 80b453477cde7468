// Declares the options of batches by length.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include <penstock/dataset.hpp>
#include <penstock/order.hpp>

namespace penstock::cli {

struct LengthOptions {
  std::string by = {};
  std::uint64_t window = LengthBuckets{}.window;
  double budget = 0;

  void declare(CLI::App& command);
  /// Null where no lengths are asked for. Throws what bucket_by() throws.
  std::shared_ptr<const LengthBuckets> made(const Dataset& dataset) const;
};

}  // namespace penstock::cli
