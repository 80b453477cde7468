#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

void Arguments::declare(CLI::App& app) {
  app.add_option("DATASET", dataset, "Packed dataset, or folder of class folders")->required();
  app.add_option("--test", test_dataset, "Another dataset to measure on, instead of held-out samples");
  app.add_option("--held-out", held_out, "Share of DATASET held out of training, to measure on")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  app.add_option("--epochs", epochs)->capture_default_str();
  app.add_option("--batch-size", batch_size)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--workers", workers, "Decoding threads; 0: usable cores")->capture_default_str();
  app.add_option("--seed", seed)->capture_default_str();
  app.add_option("--every", every, "Steps between two lines of output")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--learning-rate", learning_rate)->capture_default_str();
  auto* mock =
      app.add_flag("--mock-loader", mock_loader, "Train on one batch repeatedly, to measure the trainer's limit");
  app.add_flag("--mock-trainer", mock_trainer, "Do not train, to measure the loader's limit")->excludes(mock);
}

void parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
}
