// Adapts a loader to torch::data: a StatefulDataset for torch::data::make_data_loader.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <torch/data/dataloader_options.h>
#include <torch/data/datasets/stateful.h>
#include <torch/data/example.h>
#include <torch/serialize/archive.h>

#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <penstock/torch/batches.hpp>
#include <penstock/torch/tensor_batch.hpp>

namespace penstock::torch {

/// The common part of Dataset and ExampleDataset. Self::give() converts a TensorBatch to the batch type of torch's
/// loader.
///
///   auto batches = ::torch::data::make_data_loader(dataset, dataset.options());  // a std::unique_ptr
///   for (auto& batch : *batches) ...  // one epoch; the next `for` is the next epoch
///
/// Copies share one loader and its position. torch's data loader holds a copy, so the program's own copy can save the
/// position. torch's loader keeps its last batch until it has the next: LoaderOptions::memory_options.reserved_batches
/// must be 2 (the default) or more.
///
/// Leave torch's workers at 0: penstock has its own threads, and reads and decodes ahead. With workers, calls are
/// thread-safe. But errors become torch's WorkerException, batches may change their order, and each of max_jobs batches
/// counts as held.
template <typename Self, typename Given>
class DatasetBase : public ::torch::data::datasets::StatefulDataset<Self, Given, std::size_t> {
  using Base = ::torch::data::datasets::StatefulDataset<Self, Given, std::size_t>;

 public:
  using typename Base::BatchType;  // an optional<Given>: torch's own before PyTorch 2.1, std's since
  using OptionalSize = decltype(std::declval<const Base&>().size());

  /// The epoch's next batch; nothing at its end, until reset(). Throws the errors of Loader::next(), and Error:
  /// invalid_argument, unless `batch_size` is the loader's own, as in options().
  BatchType get_batch(std::size_t batch_size) override {
    const std::scoped_lock lock(shared_->mutex);
    require(batch_size);
    shared_->untouched = false;
    if (shared_->ended) return {};
    BatchType given;
    shared_->ended = !take_next(
        *shared_->loader, [&](TensorBatch batch) { given = static_cast<const Self&>(*this).give(std::move(batch)); });
    return given;
  }

  /// Called by begin() of torch's data loader. The next batch is then the first of the next epoch or, after load(), the
  /// one after the last batch delivered before the save.
  void reset() override {
    const std::scoped_lock lock(shared_->mutex);
    if (!shared_->untouched) shared_->loader->begin_epoch();
    shared_->untouched = true;
    shared_->ended = false;
  }

  /// Number of samples in an epoch, over all ranks.
  OptionalSize size() const override {
    const std::scoped_lock lock(shared_->mutex);
    return static_cast<std::size_t>(shared_->loader->state().samples);
  }

  /// Saves the loader's position (Loader::state()) under the key "penstock": torch::save(dataset, path).
  void save(::torch::serialize::OutputArchive& archive) const override {
    const std::scoped_lock lock(shared_->mutex);
    archive.write("penstock", c10::IValue(shared_->loader->state().to_json()));
  }
  /// Resumes with the first batch that was not delivered before save(): torch::load(dataset, path). Throws Error:
  /// invalid_argument, if the archive contains no position, or a position in other data or in another order of them.
  /// Prints the remarks of Loader::restore() as a warning.
  void load(::torch::serialize::InputArchive& archive) override {
    c10::IValue state;
    if (!archive.try_read("penstock", state) || !state.isString())
      throw Error::invalid_argument("the archive contains no position of a penstock dataset");
    const std::scoped_lock lock(shared_->mutex);
    const std::string said = shared_->loader->restore(LoaderState::from_json(state.toStringRef()));
    if (!said.empty()) TORCH_WARN("penstock: ", said);
    shared_->untouched = shared_->ended = false;
  }

  /// The options for make_data_loader: the loader's batch size, and 0 workers.
  ::torch::data::DataLoaderOptions options() const {
    return ::torch::data::DataLoaderOptions(shared_->loader->options().batch_size).workers(0);
  }
  /// For stats(), state() and other functions. No other thread may be in get_batch() meanwhile.
  const std::shared_ptr<Loader>& loader() const { return shared_->loader; }

 protected:
  explicit DatasetBase(std::shared_ptr<Loader> loader) : shared_(std::make_shared<Shared>()) {
    if (loader == nullptr) throw Error::invalid_argument("a dataset for torch requires a loader, not a null pointer");
    shared_->loader = std::move(loader);
  }

 private:
  struct Shared {
    std::mutex mutex;  // guards all other members, because torch's workers may call from several threads
    std::shared_ptr<Loader> loader;
    bool untouched = false;  // no batch was taken since reset()
    bool ended = false;      // the epoch that reset() began has ended
  };

  void require(std::size_t batch_size) const {
    const std::uint32_t own = shared_->loader->options().batch_size;
    if (batch_size == own) return;
    throw Error::invalid_argument("torch's data loader requests batches of " + std::to_string(batch_size) +
                                  ", but penstock's loader makes batches of " + std::to_string(own) +
                                  ": pass the dataset's options() to make_data_loader()");
  }

  std::shared_ptr<Shared> shared_;
};

/// Batches of any number of fields, by name: the batch type is TensorBatch.
class Dataset : public DatasetBase<Dataset, TensorBatch> {
 public:
  explicit Dataset(Loader loader) : Dataset(std::make_shared<Loader>(std::move(loader))) {}
  /// Throws Error: invalid_argument, if `loader` is null.
  explicit Dataset(std::shared_ptr<Loader> loader) : DatasetBase(std::move(loader)) {}

 private:
  friend DatasetBase;
  static TensorBatch give(TensorBatch batch) { return batch; }
};

/// Batches of two fields, as in torch's own examples: the batch type is torch::data::Example<>, with all rows in `data`
/// and `target`. An Example has no place for `__valid__`: use Dataset if rows may be padding or invalid.
class ExampleDataset : public DatasetBase<ExampleDataset, ::torch::data::Example<>> {
 public:
  /// Data and target are the outputs with these names. Throws Error: invalid_argument, if `loader` is null or lacks
  /// such an output.
  ExampleDataset(std::shared_ptr<Loader> loader, std::string data, std::string target)
      : DatasetBase(std::move(loader)), data_(std::move(data)), target_(std::move(target)) {
    const std::vector<std::string> known = outputs();
    for (const std::string& name : {data_, target_}) {
      if (std::find(known.begin(), known.end(), name) == known.end())
        throw Error::invalid_argument("the loader has no output '" + name + "'");
    }
  }
  ExampleDataset(Loader loader, std::string data, std::string target)
      : ExampleDataset(std::make_shared<Loader>(std::move(loader)), std::move(data), std::move(target)) {}
  /// Data is the loader's first output and target its second. Throws Error: invalid_argument, unless it has exactly
  /// two.
  explicit ExampleDataset(std::shared_ptr<Loader> loader) : DatasetBase(std::move(loader)) {
    const std::vector<std::string> known = outputs();
    if (known.size() != 2) {
      throw Error::invalid_argument("the loader has " + std::to_string(known.size()) +
                                    " outputs, not two: name the outputs for data and target");
    }
    data_ = known[0];
    target_ = known[1];
  }
  explicit ExampleDataset(Loader loader) : ExampleDataset(std::make_shared<Loader>(std::move(loader))) {}

 private:
  friend DatasetBase;
  ::torch::data::Example<> give(const TensorBatch& batch) const { return {batch[data_], batch[target_]}; }

  std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const FieldChain& output : loader()->options().transforms) names.push_back(output.first);
    if (names.empty()) {
      for (const FieldSchema& field : loader()->dataset().fields()) names.push_back(field.name);
    }
    return names;
  }

  std::string data_, target_;
};

}  // namespace penstock::torch
