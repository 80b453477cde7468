// Trains PointNet on the clouds of a packed dataset or of a folder, and shows what loading and what training took:
//
//   penstock synth clouds trees -n 300 --num-classes 6 --points 20k-40k
//   penstock pack trees trees.tar.d --format tar --point-order progressive
//   train_points trees.tar.d                    reads and sees other points of each cloud in each epoch
//   train_points trees                          draws its points from whole LAS files
//   train_points trees.tar.d --mock-trainer     the loader alone; --mock-loader: the trainer alone
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

#include <torch/optim/adam.h>

#include "pointnet.hpp"
#include "training.hpp"

namespace {

struct Options {
  Arguments shared{.epochs = 20, .batch_size = 32, .learning_rate = 0.001};
  std::int64_t points = 1024, width = 16;
  std::string sampling = "random";
  double scale = 0;  // 0: each cloud is made as large as a unit sphere
  bool feature_transform = false;

  void declare(CLI::App& app) {
    shared.declare(app);
    app.add_option("--points", points, "Points of each cloud in each epoch")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--sampling", sampling, "How points are sampled: random, fps, voxel:0.1, ...")
        ->option_text("METHOD[:SIZE]")
        ->capture_default_str();
    app.add_option("--scale", scale, "Factor for all coordinates, instead of scaling each cloud to the unit sphere")
        ->check(CLI::PositiveNumber);
    app.add_option("--width", width, "Channels of the first layer; 64 in the paper")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_flag("--feature-transform", feature_transform, "Add a T-Net for the features");
  }
};

Chains chains(const Options& told) {
  namespace points = penstock::points;
  const std::size_t colon = told.sampling.find(':');
  points::SampleKeywords keywords;
  if (colon != std::string::npos) keywords.size = std::strtod(told.sampling.c_str() + colon + 1, nullptr);
  const penstock::Chain clouds = penstock::field("las|laz|ply|pcd|off|npy") |
                                 points::sample(told.points, told.sampling.substr(0, colon), keywords) |
                                 points::center() |
                                 (told.scale == 0 ? points::unit_sphere() : points::scale(told.scale));
  return {.learn = clouds | points::random_rotate("z") | points::random_jitter(0.01, 0.05) | points::channels_first(),
          .check = clouds | points::channels_first()};
}

Learner learner(std::int64_t classes, const Options& told) {
  PointNet network(
      PointNetOptions{.classes = classes, .width = told.width, .feature_transform = told.feature_transform});
  Learner made{.network = network.ptr(),
               .scores = [network](const torch::Tensor& clouds) mutable { return network->forward(clouds); },
               .optimizer = std::make_shared<torch::optim::Adam>(network->parameters(),
                                                                 torch::optim::AdamOptions(told.shared.learning_rate))};
  if (told.feature_transform) made.penalty = [network] { return 0.001 * network->far_from_orthogonal(); };
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains PointNet to classify point clouds");
  Options told;
  told.declare(app);
  parse(app, argc, argv);
  return train("train_points", told.shared, chains(told), [&](std::int64_t classes) { return learner(classes, told); });
}
