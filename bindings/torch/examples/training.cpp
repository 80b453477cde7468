#include "training.hpp"

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <numbers>
#include <optional>
#include <string_view>
#include <vector>

#include <torch/nn/functional/loss.h>
#include <torch/utils.h>

#include <penstock/penstock.hpp>
#include <penstock/torch/batches.hpp>

#include "progress.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using penstock::torch::TensorBatch;

volatile std::sig_atomic_t interrupted = 0;

void stop_at_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

// By a hash of the key (FNV-1a, 64 bits): a sample stands on the same side in every format and every program.
bool is_held_out(std::string_view key, double share) {
  std::uint64_t number = 0xcbf29ce484222325;
  for (const char byte : key) number = (number ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return number % 1000 < static_cast<std::uint64_t>(std::llround(1000 * share));
}

struct Split {
  std::vector<std::uint64_t> training, held_out;

  Split(const penstock::Dataset& dataset, double share) {
    for (std::uint64_t sample = 0; sample < dataset.size(); ++sample)
      (is_held_out(dataset.key(sample), share) ? held_out : training).push_back(sample);
  }
};

penstock::Loader training_loader(const penstock::Dataset& dataset, const Split& split, const Chains& chains,
                                 const Arguments& told) {
  return penstock::Loader(dataset, {.batch_size = told.batch_size,
                                    .shuffle = true,
                                    .seed = told.seed,
                                    .workers = told.workers,
                                    .transforms = {{"input", chains.learn}, {"cls", penstock::label()}},
                                    .last_batch = penstock::Last::drop,
                                    .subset = split.training});
}

penstock::Loader test_loader(const penstock::Dataset& dataset, std::optional<std::vector<std::uint64_t>> subset,
                             const Chains& chains, const Arguments& told) {
  return penstock::Loader(dataset, {.batch_size = told.batch_size,
                                    .workers = told.workers,
                                    .transforms = {{"input", chains.check}, {"cls", penstock::label()}},
                                    .subset = std::move(subset)});
}

// The learning rate falls from what it is at first towards zero, along a cosine.
void begin_epoch(const Learner& learner, std::uint64_t epoch, const Arguments& told) {
  const double share = static_cast<double>(epoch) / static_cast<double>(told.epochs);
  const double rate = told.learning_rate * (1 + std::cos(std::numbers::pi * share)) / 2;
  for (torch::optim::OptimizerParamGroup& group : learner.optimizer->param_groups()) group.options().set_lr(rate);
}

// One step of the optimizer; adds loss and accuracy to `step`.
void learn(const Learner& learner, const TensorBatch& batch, Step& step) {
  learner.network->train();
  learner.optimizer->zero_grad();
  const torch::Tensor scores = learner.scores(batch["input"]);
  torch::Tensor loss = torch::nn::functional::cross_entropy(scores, batch["cls"]);
  if (learner.penalty) loss = loss + learner.penalty();
  loss.backward();
  learner.optimizer->step();
  step.loss = loss.item<double>();
  step.correct = scores.argmax(1).eq(batch["cls"]).sum().item<double>();
}

// Measures accuracy on one epoch of the loader.
void test(const Learner& learner, penstock::Loader& loader, std::uint64_t epoch) {
  const torch::NoGradGuard no_gradients;
  learner.network->eval();
  std::int64_t right = 0, counted = 0;
  for (const TensorBatch& batch : penstock::torch::batches(loader)) {
    if (interrupted != 0) return;
    const torch::Tensor hits = learner.scores(batch["input"]).argmax(1).eq(batch["cls"]);
    right += hits.logical_and(batch.valid()).sum().item<std::int64_t>();
    counted += batch.valid().sum().item<std::int64_t>();
  }
  std::printf("held out: %.3f of %lld samples correct after epoch %llu\n",
              static_cast<double>(right) / static_cast<double>(counted), static_cast<long long>(counted),
              static_cast<unsigned long long>(epoch));
}

// One epoch: takes the loader's batches, or with --mock-loader as many times its first one, and trains on them.
void run_epoch(std::uint64_t epoch, penstock::Loader& loader, const Learner& learner, Progress& progress,
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
    if (!told.mock_trainer) learn(learner, *batch, step);
    step.training = Clock::now() - loaded;
    progress.add(epoch, step);
  }
  if (told.mock_loader) loader.set_epoch(epoch + 1);
  progress.end_epoch();
}

int run(const Arguments& told, const Chains& chains, const std::function<Learner(std::int64_t classes)>& make_learner) {
  const penstock::Dataset dataset = penstock::open(told.dataset);
  if (dataset.classes().empty())
    throw penstock::Error::invalid_argument("the dataset has no class names: pack a folder of class folders",
                                            {.dataset = told.dataset});
  const bool second = !told.test_dataset.empty();
  const Split split(dataset, second ? 0 : told.held_out);
  penstock::Loader loader = training_loader(dataset, split, chains, told);
  if (loader.batches() == 0)
    throw penstock::Error::invalid_argument("there are fewer samples for training than one batch: lower --batch-size",
                                            {.dataset = told.dataset});

  std::optional<penstock::Loader> tests;
  if (!told.mock_loader && !told.mock_trainer && (second || !split.held_out.empty()))
    tests.emplace(second ? test_loader(penstock::open(told.test_dataset), std::nullopt, chains, told)
                         : test_loader(dataset, split.held_out, chains, told));
  torch::manual_seed(told.seed);
  const Learner learner = make_learner(static_cast<std::int64_t>(dataset.classes().size()));
  Progress progress(told.every);
  for (std::uint64_t epoch = 0; epoch < told.epochs && interrupted == 0; ++epoch) {
    begin_epoch(learner, epoch, told);
    run_epoch(epoch, loader, learner, progress, told);
    if (tests && interrupted == 0) test(learner, *tests, epoch);
  }
  progress.print_sums(loader.stats().bytes_read);
  return interrupted == 0 ? 0 : 128 + SIGINT;
}

}  // namespace

int train(const char* program, const Arguments& told, const Chains& chains,
          const std::function<Learner(std::int64_t classes)>& make_learner) {
  stop_at_interrupt();
  try {
    return run(told, chains, make_learner);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}
