// Declares the options that say how often samples come: of bench, tune and show.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include <penstock/dataset.hpp>
#include <penstock/order.hpp>

namespace penstock::cli {

struct DrawArguments {
  std::string weights, repeats, balance;  // names of fields
  bool replacement = true;
  std::uint64_t epoch_samples = 0, shuffle_window = 0;

  void declare(CLI::App& command);
  /// Null where none is asked for. Throws Error: invalid_argument, for a field that is not there, and what reading it
  /// throws.
  std::shared_ptr<const Draws> draws(const Dataset& dataset) const;
};

}  // namespace penstock::cli
