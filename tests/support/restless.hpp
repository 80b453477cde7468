// Programs that end, jump and hold on to batches at any moment, on devices that are slow and fail.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/device_loading.hpp"

namespace penstock::test {

/// In half of all cases slow, and in an eighth failing at one of its first `pieces` pieces of work.
inline std::shared_ptr<HostDevice> restless_device(std::mt19937& random, std::uint64_t pieces) {
  const bool slow = random() % 2 == 0;
  const std::uint64_t failing = random() % 8 == 0 ? random() % pieces : ~std::uint64_t{0};
  return device_with([=](const HostWork& work) {
    if (slow) std::this_thread::sleep_for(std::chrono::microseconds(work.number * 97 % 400));
    if (work.number == failing) throw std::runtime_error("off");
  });
}

/// What a loader goes through from its beginning to its end; a batch may be kept beyond that. Only the device may fail.
inline void restless_life(const Dataset& dataset, LoaderOptions options, std::mt19937& random) {
  options.batch_size = static_cast<std::uint32_t>(1 + random() % 16);
  options.prefetch = static_cast<unsigned>(1 + random() % 3);
  options.device_options.prefetch = static_cast<unsigned>(1 + random() % 3);
  std::vector<Batch> kept;  // ends after the loader
  Loader loader(dataset, std::move(options));
  try {
    for (auto take = random() % 8; take > 0; --take) {
      auto batch = loader.next();
      if (!batch) break;
      if (random() % 2 == 0) batch->wait(random() % 4 == 0 ? kThreadStream : kDefaultStream);
      if (kept.empty() && random() % 3 == 0) kept.push_back(*batch);
      if (random() % 5 == 0) loader.set_epoch(random() % 3);
      if (random() % 8 == 0) loader.at(0, 0);
    }
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::resource);
  }
  if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
}

/// What next() throws once the device has failed: again and again. The last words of three.
inline std::string words_of_failure(Loader& loader) {
  int thrown = 0;
  std::string said;
  for (int i = 0; i < 60 && thrown < 3; ++i) {
    try {
      loader.next();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::resource);
      said = error.what();
      ++thrown;
    }
  }
  CHECK(thrown == 3);
  return said;
}

/// Epoch 0 some times over, each batch given to a stream that looks at it when it comes to that, and let go at once;
/// the loader ends first. `look` says of a batch how much is wrong with it, by what it takes along. Returns batches
/// seen.
inline int looked_at_late(HostDevice& device, const Dataset& dataset, const LoaderOptions& options, int epochs,
                          const std::function<std::function<int()>(const Batch&)>& look) {
  std::atomic<int> wrong{0}, seen{0};
  const auto stream = device.make_stream();
  {
    Loader loader(dataset, options);
    for (int epoch = 0; epoch < epochs; ++epoch) {
      loader.set_epoch(0);
      while (const auto batch = loader.next()) {
        batch->wait(stream->handle());
        device.enqueue(stream->handle(), [&, wrongs = look(*batch)] {
          wrong += wrongs();
          ++seen;
        });
      }
    }
  }
  const auto done = device.make_event();
  done->record(stream->handle());
  done->wait();
  CHECK(wrong == 0);
  CHECK(device.allocated() == 0);
  return seen;
}

}  // namespace penstock::test
