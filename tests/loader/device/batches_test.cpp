// Batches on a device: the same bytes in the same order, also from failures and functions of the program on. The device
// is a processor that works as asynchronously.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/device_loading.hpp"

namespace penstock::test::batches_test {

TEST_CASE("batches on a device are those of the host, in order, over epochs and short last batches") {
  const Arrays data(101);
  Loader plain(data.dataset(), on(nullptr));
  std::atomic<unsigned> seed{1};
  const auto device =
      device_with([&](const HostWork&) { std::this_thread::sleep_for(std::chrono::microseconds(seed++ * 37 % 500)); });
  Loader loader(data.dataset(), on(device));
  for (int epoch = 0; epoch < 3; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
  CHECK(loader.options().device == "host:0");
  loader.set_epoch(1);
  plain.set_epoch(1);
  loader.next();
  plain.next();
  const LoaderState state = loader.state();
  CHECK(digests_of(loader) == digests_of(plain));
  Loader restored(data.dataset(), on(device));
  restored.next();
  restored.restore(state);
  plain.restore(state);
  CHECK(digests_of(restored) == digests_of(plain));
}

TEST_CASE("a batch says where it is; what it says of itself stays on the host") {
  const Arrays data(20);
  const auto device = device_with();
  std::optional<Batch> batch;
  {
    Loader loader(data.dataset(), on(device));
    Loader plain(data.dataset(), on(nullptr));
    CHECK_FALSE(plain.next()->device().has_value());
    plain.set_epoch(0);
    batch = loader.next();
    const auto same = plain.next();
    CHECK(batch->device() == DeviceId{DeviceId::Kind::host, 0});
    CHECK(batch->size() == 8);
    CHECK(std::vector(batch->keys().begin(), batch->keys().end()) ==
          std::vector(same->keys().begin(), same->keys().end()));
    CHECK(std::vector(batch->samples().begin(), batch->samples().end()) ==
          std::vector(same->samples().begin(), same->samples().end()));
    CHECK((*batch)["stored"].offsets.size() == 9);
    CHECK(digest_of(loader.at(0, 0)) == digest_of(*same));
    CHECK(loader.at(0, 1).device().has_value());
    same->synchronize();
    same->wait(kDefaultStream);  // on the host there is nothing to wait for
  }
  batch->synchronize();  // outlives its loader
  CHECK((*batch)["npy"].as<float>()[1] == (*batch)["npy"].as<float>()[0] * (*batch)["npy"].as<float>()[0]);
  CHECK(device->allocated() > 0);
  batch.reset();
  CHECK(device->allocated() == 0);
  CHECK(device->pinned() == 0);
}

TEST_CASE("on_batch comes before the copy, and what it keeps counts as the consumer's") {
  const Arrays data(400);
  const auto device = device_with();
  LoaderOptions options = on(device);
  options.batch_transform = [](Batch& batch) {
    CHECK_FALSE(batch.device().has_value());
    auto* first = reinterpret_cast<float*>(batch["npy"].values.data);
    batch.attach(std::make_shared<float>(*first));
    *first = -1;
  };
  Loader plain(data.dataset(), on(nullptr));
  Loader loader(data.dataset(), options);
  while (const auto batch = loader.next()) {
    batch->synchronize();
    CHECK((*batch)["npy"].as<float>()[0] == -1);
    CHECK(*std::static_pointer_cast<float>(batch->attached()) == (*plain.next())["npy"].as<float>()[0]);
  }
  std::vector<Batch> hoard;
  options.batch_transform = [&](Batch& batch) { hoard.push_back(batch); };
  Loader hoarding(data.dataset(), options);
  CHECK_THROWS_WITH(
      [&] {
        for (int i = 0; i < 50; ++i) hoarding.next();
      }(),
      doctest::Contains("reserved_batches=2"));
}

TEST_CASE("failures of the workers pass the copy by, and bad samples are told beside the batch") {
  const Arrays data(40);
  write_file(data.folder / "data" / (number_key(9) + ".npy"), "\x93NUMPY");
  LoaderOptions options = on(device_with());
  options.transforms = {{"npy", array::decode()}};
  options.shuffle = false;
  Loader loader(data.dataset(), options);
  CHECK(loader.next()->number() == 0);
  CHECK_THROWS_AS(loader.next(), Error);
  CHECK(loader.next()->number() == 2);
  options.on_error = OnError::mark;
  Loader marking(data.dataset(), options);
  marking.next();
  const auto batch = marking.next();
  CHECK(batch->valid()[1] == 0);
  CHECK(batch->bad().front().sample == 9);
}

TEST_CASE("where page-locking is refused the stats say why, and batches come all the same") {
  const Arrays data(64);
  LoaderOptions options = on(std::make_shared<HostDevice>(0, HostDeviceOptions{.refuse_pin = "no more pages"}));
  Loader loader(data.dataset(), options);
  Loader plain(data.dataset(), on(nullptr));
  CHECK(digests_of(loader) == digests_of(plain));
  CHECK(loader.stats().staging == "plain memory: page-locking failed: host:0: pin: no more pages");
  CHECK(plain.stats().staging == "plain memory: no device was asked for");
}

TEST_CASE("devices that are not there are refused in the constructor") {
  const Arrays data(8);
  LoaderOptions options = on(nullptr);
  options.device = "tpu:0";
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("device must be \"cuda\""));
  options.device = "cuda:999";
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("no device cuda:999: "));
  options.device = "host";
  options.device_options.prefetch = 0;
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("device_options.prefetch"));
  options.device_options.prefetch = 1;
  Loader loader(data.dataset(), options);
  CHECK(loader.next()->device() == DeviceId{});
}

}  // namespace penstock::test::batches_test
