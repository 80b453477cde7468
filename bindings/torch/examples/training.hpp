// The training loop of the examples: it opens a dataset, trains, and shows per step what loading and training took.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <penstock/chain.hpp>

#include "arguments.hpp"

/// From a stored field to what the network takes.
struct Chains {
  penstock::Chain learn, check;  ///< to train on; to measure accuracy with
};

/// What is trained, and how.
struct Learner {
  std::shared_ptr<torch::nn::Module> network;
  std::function<torch::Tensor(const torch::Tensor& inputs)> scores;  ///< (N, ...) -> (N, classes)
  std::shared_ptr<torch::optim::Optimizer> optimizer;
  std::function<torch::Tensor()> penalty = {};  ///< if any: added to the loss after each forward pass
};

/// The whole program but for its options, to the exit code. Errors are printed, with the program's name. The first
/// Ctrl-C ends the loop after its step, a second one ends the program at once.
int train(const char* program, const Arguments& told, const Chains& chains,
          const std::function<Learner(std::int64_t classes)>& make_learner);
