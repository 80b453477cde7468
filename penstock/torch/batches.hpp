// Iterates over a loader in batches of torch tensors: for (const auto& batch : penstock::torch::batches(loader)).
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include <penstock/loader.hpp>
#include <penstock/torch/profiler_mark.hpp>
#include <penstock/torch/tensor_batch.hpp>

namespace penstock::torch {

/// Calls take(TensorBatch) with the loader's next batch, which counts as delivered when take() has returned. Returns
/// false at the end of the epoch. Marks the wait for PyTorch's profiler. Throws the errors of Loader::next() and
/// take().
template <typename Take>
bool take_next(Loader& loader, const Take& take) {
  std::optional<ProfilerMark> wait(std::in_place);
  const auto hand_over = [&](const Batch& batch) {
    wait.reset();
    take(TensorBatch(batch));
  };
  return loader.next({}, hand_over).has_value();
}

/// The loader's next batch as tensors; nothing at the end of the epoch. Throws the errors of Loader::next().
inline std::optional<TensorBatch> next(Loader& loader) {
  std::optional<TensorBatch> taken;
  take_next(loader, [&](TensorBatch batch) { taken.emplace(std::move(batch)); });
  return taken;
}

/// One epoch of a loader as a range of TensorBatch, with the rules of a `for` over the loader. Leaving the loop early
/// discards the batches fetched ahead, and the next begin() starts the next epoch. The loader must outlive the range.
class Batches {
 public:
  explicit Batches(Loader& loader) : loader_(&loader) {}

  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = TensorBatch;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    explicit iterator(Loader& loader) : loader_(&loader), batch_(next(loader)) {}
    const TensorBatch& operator*() const { return *batch_; }
    const TensorBatch* operator->() const { return &*batch_; }
    iterator& operator++() {
      batch_.reset();  // before the wait: a loop holds one batch at a time
      batch_ = next(*loader_);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !batch_.has_value(); }

   private:
    Loader* loader_ = nullptr;
    std::optional<TensorBatch> batch_;
  };

  iterator begin() const {
    loader_->begin_epoch();
    return iterator(*loader_);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  Loader* loader_;
};

/// One epoch of the loader: for (const auto& batch : batches(loader)).
inline Batches batches(Loader& loader) {
  return Batches(loader);
}
Batches batches(Loader&&) = delete;  // the loader would end before the loop's first batch

}  // namespace penstock::torch
