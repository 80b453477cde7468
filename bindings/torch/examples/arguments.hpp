// What the example is told on its command line.
#pragma once

#include <cstdint>
#include <string>

struct Arguments {
  std::string dataset, test_dataset;
  std::uint64_t epochs = 5;
  std::uint32_t batch_size = 64;
  unsigned workers = 0;
  std::uint64_t seed = 0;
  std::int64_t size = 32;    // pixels, width and height of what the network sees
  std::uint64_t every = 20;  // steps between two lines
  double learning_rate = 0.05;
  double held_out = 0.1;  // share of the samples
  bool mock_loader = false, mock_trainer = false;

  /// Ends the program after --help and after a mistake.
  static Arguments parse(int argc, char** argv);
};
