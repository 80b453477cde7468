// PointNet, a network that classifies a cloud of points, whatever their order.
// Source: Qi, Su, Mo, Guibas, "PointNet: Deep Learning on Point Sets for 3D Classification and Segmentation", CVPR
// 2017. All layers are as wide as the paper's times width / 64.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <torch/nn.h>
#include <torch/utils.h>

/// Layers of these widths, each with a batch normalization: the same for each point.
inline torch::nn::Sequential for_each_point(const std::vector<std::int64_t>& widths) {
  torch::nn::Sequential layers;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    layers->push_back(torch::nn::Conv1d(torch::nn::Conv1dOptions(widths[i - 1], widths[i], 1).bias(false)));
    layers->push_back(torch::nn::BatchNorm1d(widths[i]));
    layers->push_back(torch::nn::ReLU());
  }
  return layers;
}

/// Likewise, for what is known of the whole cloud.
inline torch::nn::Sequential for_the_cloud(const std::vector<std::int64_t>& widths) {
  torch::nn::Sequential layers;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    layers->push_back(torch::nn::Linear(torch::nn::LinearOptions(widths[i - 1], widths[i]).bias(false)));
    layers->push_back(torch::nn::BatchNorm1d(widths[i]));
    layers->push_back(torch::nn::ReLU());
  }
  return layers;
}

/// (N, C, K) -> (N, C, C): a matrix for each cloud, at first the identity, that its points are multiplied with.
class TNetImpl : public torch::nn::Module {
 public:
  TNetImpl(std::int64_t channels, std::int64_t width)
      : points_(register_module("points", for_each_point({channels, width, 2 * width, 16 * width}))),
        cloud_(register_module("cloud", for_the_cloud({16 * width, 8 * width, 4 * width}))),
        matrix_(register_module("matrix", torch::nn::Linear(4 * width, channels * channels))) {
    const torch::NoGradGuard no_gradients;
    matrix_->weight.zero_();
    matrix_->bias.copy_(torch::eye(channels).flatten());
  }

  torch::Tensor forward(const torch::Tensor& points) {
    const std::int64_t channels = points.size(1);
    return matrix_->forward(cloud_->forward(points_->forward(points).amax(2))).view({-1, channels, channels});
  }

 private:
  torch::nn::Sequential points_, cloud_;
  torch::nn::Linear matrix_;
};
TORCH_MODULE(TNet);

struct PointNetOptions {
  std::int64_t classes = 2, width = 64;
  bool feature_transform = false;  ///< a T-Net for the features, beside the one for the coordinates
  double dropout = 0.3;
};

/// float32 (N, 3, K) -> (N, classes), for any K.
class PointNetImpl : public torch::nn::Module {
 public:
  explicit PointNetImpl(const PointNetOptions& options)
      : input_(register_module("input", TNet(3, options.width))),
        first_(register_module("first", for_each_point({3, options.width, options.width}))),
        last_(register_module("last",
                              for_each_point({options.width, options.width, 2 * options.width, 16 * options.width}))),
        head_(register_module("head", for_the_cloud({16 * options.width, 8 * options.width, 4 * options.width}))) {
    if (options.feature_transform) feature_ = register_module("feature", TNet(options.width, options.width));
    head_->push_back(torch::nn::Dropout(options.dropout));
    head_->push_back(torch::nn::Linear(4 * options.width, options.classes));
  }

  torch::Tensor forward(const torch::Tensor& points) {
    torch::Tensor features = first_->forward(input_->forward(points).matmul(points));
    if (feature_) {
      matrices_ = feature_->forward(features);
      features = matrices_.matmul(features);
    }
    return head_->forward(last_->forward(features).amax(2));
  }

  /// |1 - A A^T|^2 of the feature T-Net's matrices for the last batch, the mean: the paper's regulariser.
  torch::Tensor far_from_orthogonal() const {
    const torch::Tensor square = matrices_.matmul(matrices_.transpose(1, 2));
    return (torch::eye(square.size(1)) - square).square().sum({1, 2}).mean();
  }

 private:
  TNet input_;
  torch::nn::Sequential first_, last_, head_;
  TNet feature_{nullptr};
  torch::Tensor matrices_;
};
TORCH_MODULE(PointNet);
