// Parses the command lines of the examples.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

/// What all of them take.
struct Arguments {
  std::string dataset = {}, test_dataset = {};
  std::uint64_t epochs = 5;
  std::uint32_t batch_size = 64;
  unsigned workers = 0;
  std::uint64_t seed = 0;
  std::uint64_t every = 20;  // steps between two lines
  double learning_rate = 0.05;
  double held_out = 0.1;  // share of the samples
  bool mock_loader = false, mock_trainer = false;

  /// The values that are there are the defaults.
  void declare(CLI::App& app);
};

/// Ends the program after --help and after a mistake.
void parse(CLI::App& app, int argc, char** argv);
