// Trains a small network on the images of a packed dataset, and shows per step what loading and what training took:
//
//   penstock synth icons icons -n 20000 && penstock pack icons icons.tar.d --format tar
//   train_images icons.tar.d --epochs 5                   the real run
//   train_images icons.tar.d --epochs 5 --mock-loader     the trainer alone: the same batch again and again
//   train_images icons.tar.d --epochs 5 --mock-trainer    the loader alone: batches are taken and let go
//
// Loading and training overlap, so the real run should come close to the lower of the two limits.
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <vector>

#include <torch/nn.h>
#include <torch/optim.h>
#include <torch/utils.h>

#include <penstock/penstock.hpp>
#include <penstock/torch/batches.hpp>

#include "arguments.hpp"
#include "network.hpp"
#include "progress.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using penstock::torch::TensorBatch;

volatile std::sig_atomic_t interrupted = 0;

// The first Ctrl-C ends the loop after its step; a second one ends the program at once.
void stop_at_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

// Which samples train, and which are held out: every n-th, so that both have all classes.
struct Split {
  std::vector<std::uint64_t> training, held_out;

  Split(std::uint64_t samples, double share) {
    const auto every = share > 0 ? static_cast<std::uint64_t>(std::llround(1 / share)) : 0;
    for (std::uint64_t sample = 0; sample < samples; ++sample)
      (every != 0 && sample % every == 0 ? held_out : training).push_back(sample);
  }
};

const std::vector<float> kMean(3, 0.5F), kDeviation(3, 0.25F);

penstock::Loader training_loader(const penstock::Dataset& dataset, const Split& split, const Arguments& told) {
  namespace image = penstock::image;
  return penstock::Loader(
      dataset, {.batch_size = told.batch_size,
                .shuffle = true,
                .seed = told.seed,
                .workers = told.workers,
                .fields = {{"image", penstock::field("jpg|png") | image::random_resized_crop(told.size, {0.5, 1.0}) |
                                         image::random_flip() | image::normalize(kMean, kDeviation)},
                           {"cls", penstock::label()}},
                .last = penstock::Last::drop,
                .subset = split.training});
}

penstock::Loader test_loader(const penstock::Dataset& dataset, std::vector<std::uint64_t> subset,
                             const Arguments& told) {
  namespace image = penstock::image;
  return penstock::Loader(dataset,
                          {.batch_size = told.batch_size,
                           .workers = told.workers,
                           .fields = {{"image", penstock::field("jpg|png") | image::resize(told.size, told.size) |
                                                    image::normalize(kMean, kDeviation)},
                                      {"cls", penstock::label()}},
                           .subset = std::move(subset)});
}

class Trainer {
 public:
  Trainer(std::int64_t classes, const Arguments& told)
      : network_(small_network(classes)),
        optimizer_(network_->parameters(), torch::optim::SGDOptions(told.learning_rate).momentum(0.9)) {}

  /// One step of stochastic gradient descent; adds loss and accuracy to `step`.
  void train(const TensorBatch& batch, Step& step) {
    network_->train();
    optimizer_.zero_grad();
    const torch::Tensor scores = network_->forward(batch["image"]);
    torch::Tensor loss = torch::nn::functional::cross_entropy(scores, batch["cls"]);
    loss.backward();
    optimizer_.step();
    step.loss = loss.item<double>();
    step.correct = scores.argmax(1).eq(batch["cls"]).sum().item<double>();
  }

  /// Measures on one epoch of the loader.
  void test(penstock::Loader& loader, std::uint64_t epoch) {
    const torch::NoGradGuard no_gradients;
    network_->eval();
    std::int64_t right = 0, counted = 0;
    for (const TensorBatch& batch : penstock::torch::batches(loader)) {
      if (interrupted != 0) return;
      const torch::Tensor hits = network_->forward(batch["image"]).argmax(1).eq(batch["cls"]);
      right += hits.logical_and(batch.valid()).sum().item<std::int64_t>();
      counted += batch.valid().sum().item<std::int64_t>();
    }
    std::printf("held out: %.3f of %lld samples right after epoch %llu\n",
                static_cast<double>(right) / static_cast<double>(counted), static_cast<long long>(counted),
                static_cast<unsigned long long>(epoch));
  }

 private:
  torch::nn::Sequential network_;
  torch::optim::SGD optimizer_;
};

// One epoch: takes the loader's batches, or with --mock-loader as many times its first one, and trains on them.
void run_epoch(std::uint64_t epoch, penstock::Loader& loader, Trainer& trainer, Progress& progress,
               const Arguments& told) {
  std::optional<TensorBatch> batch;
  if (told.mock_loader) batch = penstock::torch::next(loader);
  for (std::uint64_t number = 0; interrupted == 0; ++number) {
    const Clock::time_point start = Clock::now();
    if (told.mock_loader) {
      if (number == loader.batches()) break;
    } else {
      batch.reset();
      batch = penstock::torch::next(loader);
      if (!batch) break;
    }
    const Clock::time_point loaded = Clock::now();
    Step step{.samples = batch->size(), .loading = loaded - start, .training = {}, .loss = {}, .correct = {}};
    if (!told.mock_trainer) trainer.train(*batch, step);
    step.training = Clock::now() - loaded;
    progress.add(epoch, step);
  }
  if (told.mock_loader) loader.set_epoch(epoch + 1);
  progress.end_epoch();
}

int run(const Arguments& told) {
  torch::manual_seed(told.seed);
  const penstock::Dataset dataset = penstock::open(told.dataset);
  if (dataset.classes().empty())
    throw penstock::Error::invalid_argument("it names no classes: pack a folder of class folders",
                                            {.dataset = told.dataset});
  const bool second = !told.test_dataset.empty();
  const Split split(dataset.size(), second ? 0 : told.held_out);
  penstock::Loader loader = training_loader(dataset, split, told);
  if (loader.batches() == 0)
    throw penstock::Error::invalid_argument("fewer samples than one batch", {.dataset = told.dataset});

  std::optional<penstock::Loader> test;
  if (!told.mock_loader && !told.mock_trainer && (second || !split.held_out.empty()))
    test.emplace(second ? test_loader(penstock::open(told.test_dataset), {}, told)
                        : test_loader(dataset, split.held_out, told));
  Trainer trainer(static_cast<std::int64_t>(dataset.classes().size()), told);
  Progress progress(told.every);
  for (std::uint64_t epoch = 0; epoch < told.epochs && interrupted == 0; ++epoch) {
    run_epoch(epoch, loader, trainer, progress, told);
    if (test && interrupted == 0) trainer.test(*test, epoch);
  }
  progress.print_sums();
  return interrupted == 0 ? 0 : 128 + SIGINT;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments told = Arguments::parse(argc, argv);
  stop_at_interrupt();
  try {
    return run(told);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_images: %s\n", error.what());
    return 1;
  }
}
