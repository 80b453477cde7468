// Makes loaders whose batches go to a processor that works as a device does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <device/device.hpp>
#include <device/host/host_device.hpp>

#include "support/loading.hpp"

namespace penstock::test {

/// Batches of arrays on `device`: fixed rows, and what is stored, which is ragged. Null: on the host.
inline LoaderOptions on(std::shared_ptr<Device> device, std::uint32_t batch_size = 8) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.shuffle = true;
  options.workers = 2;
  options.device_options.opened = std::move(device);
  options.transforms = {{"npy", array::decode()}, {"cls", label()}, {"stored", field("npy") | raw()}};
  return options;
}

/// `before` is called in a stream's thread before each piece of work.
inline std::shared_ptr<HostDevice> device_with(std::function<void(const HostWork&)> before = {}) {
  return std::make_shared<HostDevice>(0, HostDeviceOptions{.before = std::move(before)});
}

/// Of a batch wherever it is, once it is whole.
inline std::uint64_t digest_of(const Batch& batch) {
  batch.synchronize();
  Digest digest;
  digest.add(batch);
  return digest.value();
}

/// One per batch of one epoch.
inline std::vector<std::uint64_t> digests_of(Loader& loader) {
  std::vector<std::uint64_t> digests;
  while (const auto batch = loader.next()) digests.push_back(digest_of(*batch));
  return digests;
}

/// What the loader throws before its epoch ends.
inline Error failure_of(Loader& loader) {
  try {
    digests_of(loader);
  } catch (const Error& error) {
    return error;
  }
  return Error::invalid_argument("nothing was thrown");
}

/// Over some epochs, behind a restored state, and by at(). A state's notes may differ: who decodes is part of it.
inline void check_alike(Loader& loader, Loader& plain, int epochs) {
  plain.set_epoch(0);
  for (int epoch = 0; epoch < epochs; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
  const LoaderState state = loader.state();
  loader.next();
  loader.restore(state);
  plain.restore(state);
  CHECK(digests_of(loader) == digests_of(plain));
  CHECK(digest_of(loader.at(1, 2)) == digest_of(plain.at(1, 2)));
}

}  // namespace penstock::test
