// Trains a small network on the images of a packed dataset, and shows per step what loading and what training took:
//
//   penstock synth icons icons -n 20000 && penstock pack icons icons.tar.d --format tar
//   train_images icons.tar.d --epochs 5                   the real run
//   train_images icons.tar.d --epochs 5 --mock-loader     the trainer alone: the same batch again and again
//   train_images icons.tar.d --epochs 5 --mock-trainer    the loader alone: batches are taken and let go
//
// Loading and training overlap, so the real run should come close to the lower of the two limits.
#include <CLI/CLI.hpp>
#include <vector>

#include <torch/optim/sgd.h>

#include "network.hpp"
#include "training.hpp"

namespace {

Chains chains(std::int64_t size) {
  namespace image = penstock::image;
  const penstock::Chain stored = penstock::field("jpg|png");
  const penstock::Chain normalize = image::normalize(std::vector<float>(3, 0.5F), std::vector<float>(3, 0.25F));
  return {.learn = stored | image::random_resized_crop(size, {0.5, 1.0}) | image::random_horizontal_flip() | normalize,
          .check = stored | image::resize(size, size) | normalize};
}

Learner learner(std::int64_t classes, double learning_rate) {
  torch::nn::Sequential network = small_network(classes);
  return {.network = network.ptr(),
          .scores = [network](const torch::Tensor& images) mutable { return network->forward(images); },
          .optimizer = std::make_shared<torch::optim::SGD>(network->parameters(),
                                                           torch::optim::SGDOptions(learning_rate).momentum(0.9))};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains a small network to classify images");
  Arguments told;
  told.declare(app);
  std::int64_t size = 32;
  app.add_option("--size", size, "Pixels, width and height")->check(CLI::Range(8, 1024))->capture_default_str();
  parse(app, argc, argv);
  return train("train_images", told, chains(size),
               [&](std::int64_t classes) { return learner(classes, told.learning_rate); });
}
