// A network for images: three convolutions and a classifier.
#pragma once

#include <cstdint>

#include <torch/nn.h>

/// float32 (N, 3, H, W) -> (N, classes), for any H and W from 8 on.
inline torch::nn::Sequential small_network(std::int64_t classes) {
  namespace nn = torch::nn;
  const auto convolution = [](std::int64_t from, std::int64_t to) {
    return nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1).bias(false));
  };
  return nn::Sequential(convolution(3, 16), nn::BatchNorm2d(16), nn::ReLU(), nn::MaxPool2d(2),   //
                        convolution(16, 32), nn::BatchNorm2d(32), nn::ReLU(), nn::MaxPool2d(2),  //
                        convolution(32, 64), nn::BatchNorm2d(64), nn::ReLU(),                    //
                        nn::AdaptiveMaxPool2d(1), nn::Flatten(), nn::Linear(64, classes));
}
