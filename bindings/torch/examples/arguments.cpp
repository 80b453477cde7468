#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

Arguments Arguments::parse(int argc, char** argv) {
  Arguments told;
  CLI::App app("Trains a small network to tell the classes of images apart");
  app.add_option("DATASET", told.dataset, "Packed dataset, or folder of class folders")->required();
  app.add_option("--test", told.test_dataset, "Another dataset to measure on, in place of held-out samples");
  app.add_option("--held-out", told.held_out, "Share of DATASET kept out of training, to measure on")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  app.add_option("--epochs", told.epochs)->capture_default_str();
  app.add_option("--batch-size", told.batch_size)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--workers", told.workers, "Decoding threads; 0: usable cores")->capture_default_str();
  app.add_option("--seed", told.seed)->capture_default_str();
  app.add_option("--size", told.size, "Pixels, width and height")->check(CLI::Range(8, 1024))->capture_default_str();
  app.add_option("--every", told.every, "Steps between two lines")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--learning-rate", told.learning_rate)->capture_default_str();
  auto* mock_loader =
      app.add_flag("--mock-loader", told.mock_loader, "The same batch again and again: the trainer's limit");
  app.add_flag("--mock-trainer", told.mock_trainer, "No training: the loader's limit")->excludes(mock_loader);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return told;
}
