// Makes the batches of one recipe, for all clients that have it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <base/thread.hpp>
#include <loader/asking/request.hpp>
#include <loader/fetch/asked_rows.hpp>
#include <loader/pipeline.hpp>

namespace penstock::serving {

using asking::Ask;
using asking::Recipe;

/// A batch for a client, or its failure.
struct Made {
  std::uint64_t client = 0, ask = 0;
  std::optional<Batch> batch = {};  ///< nothing: a sample is invalid
  std::string note = {};            ///< describes the batch (sharing/notes.hpp)
  std::uint32_t crc32c = 0;         ///< of the note and the values
};

class Source {
 public:
  /// `made` receives each batch, in the order of the asks, in the source's thread. Throws what Loader throws, and
  /// Error: invalid_argument, if it makes other rows than the recipe says.
  Source(const Dataset& dataset, const Recipe& recipe, unsigned workers, std::function<void(Made)> made);
  ~Source();
  Source(Source&&) = delete;

  void ask(std::uint64_t client, Ask ask);  ///< from any thread
  const Dataset& dataset() const { return pipeline_->dataset(); }
  std::uint32_t batch_size() const { return pipeline_->options().batch_size; }
  unsigned workers() const { return pipeline_->options().workers; }
  bool ended() const { return ended_; }  ///< it makes nothing any more

 private:
  void run();

  const std::function<void(Made)> made_;
  const std::shared_ptr<AskedRows> asked_ = std::make_shared<AskedRows>();
  const std::shared_ptr<Pipeline> pipeline_;
  std::mutex mutex_;  // guards waiting_, and keeps it in the order of asked_
  std::deque<Made> waiting_;
  std::atomic<bool> ended_{false};
  Thread thread_;
};

}  // namespace penstock::serving
