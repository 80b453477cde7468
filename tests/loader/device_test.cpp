// Batches on a device: the same bytes in the same order, copied ahead of the consumer, whose threads never wait for
// copies; memory that goes round safely; failures and ends at any moment. The device is a processor that works as
// asynchronously.
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/device/host_device.hpp>
#include <penstock/transforms/clouds/packed_cloud.hpp>

#include "support/loading.hpp"

using namespace penstock;
using namespace penstock::test;
using namespace std::chrono_literals;

namespace {

LoaderOptions on(std::shared_ptr<Device> device, std::uint32_t batch_size = 8) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.shuffle = true;
  options.workers = 2;
  options.on_device = std::move(device);
  options.fields = {{"npy", array::decode()}, {"cls", label()}, {"stored", field("npy") | raw()}};
  return options;
}

std::shared_ptr<HostDevice> device_with(std::function<void(const HostWork&)> before = {}) {
  return std::make_shared<HostDevice>(0, HostDeviceOptions{.before = std::move(before)});
}

std::uint64_t digest_of(const Batch& batch) {
  batch.synchronize();
  Digest digest;
  digest.add(batch);
  return digest.value();
}

std::vector<std::uint64_t> digests_of(Loader& loader) {
  std::vector<std::uint64_t> digests;
  while (const auto batch = loader.next()) digests.push_back(digest_of(*batch));
  return digests;
}

std::ptrdiff_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

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

TEST_CASE("next() gives a batch before its copy is over, and a stream that waits for it reads it whole") {
  const Arrays data(64);
  std::promise<void> opened;
  const auto open = opened.get_future().share();
  const auto device = device_with([&](const HostWork&) { open.wait(); });
  Loader loader(data.dataset(), on(device));
  std::optional<Batch> batch = loader.next();
  const std::optional<Batch> second = loader.next();
  std::atomic<int> wrong{0}, seen{0};
  const auto stream = device->make_stream();
  batch->wait(stream->handle());
  const Field& field = (*batch)["npy"];
  device->enqueue(stream->handle(), [&wrong, &seen, values = field.as<float>()] {
    for (std::size_t row = 0; row < 8; ++row) wrong += values[row * 3] != -values[row * 3 + 2];
    ++seen;
  });
  CHECK(seen == 0);
  opened.set_value();
  const auto done = device->make_event();
  done->record(stream->handle());
  done->wait();
  CHECK(seen == 1);
  CHECK(wrong == 0);
}

TEST_CASE("a consumer that lets go at once, while its streams are still at work, reads nothing that was written over") {
  const Arrays data(400);
  std::atomic<unsigned> seed{1};
  const auto pause = [&] { std::this_thread::sleep_for(std::chrono::microseconds(std::minstd_rand(seed++)() % 300)); };
  const auto device = device_with([&](const HostWork&) { pause(); });
  LoaderOptions options = on(device);
  options.device_prefetch = 1;
  options.held = 1;
  std::atomic<int> wrong{0}, seen{0};
  const auto first = device->make_stream(), second = device->make_stream();
  {
    Loader loader(data.dataset(), options);
    for (int epoch = 0; epoch < 3; ++epoch) {
      while (const auto batch = loader.next()) {
        std::vector<float> expected;
        for (const std::uint64_t sample : batch->samples()) expected.push_back(static_cast<float>(sample));
        for (const StreamHandle stream : {first->handle(), second->handle()}) {
          batch->wait(stream);
          device->enqueue(stream, [&, values = (*batch)["npy"].as<float>(), expected] {
            pause();
            for (std::size_t row = 0; row < expected.size(); ++row) wrong += values[row * 3] != expected[row];
            ++seen;
          });
        }
      }
    }
  }
  for (const auto& stream : {first.get(), second.get()}) {
    const auto done = device->make_event();
    done->record(stream->handle());
    done->wait();
  }
  CHECK(seen == 2 * 3 * 50);
  CHECK(wrong == 0);
  CHECK(device->allocated() == 0);
}

TEST_CASE("copies run ahead by device_prefetch and no further, and holding more than held is an error") {
  const Arrays data(400);
  std::atomic<std::uint64_t> copies{0};
  const auto device = device_with([&](const HostWork&) { ++copies; });
  LoaderOptions options = on(device, 4);
  options.fields = {{"npy", array::decode()}};
  options.device_prefetch = 3;
  Loader loader(data.dataset(), options);
  std::vector<Batch> kept{*loader.next()};
  for (int i = 0; i < 100 && copies < 4; ++i) std::this_thread::sleep_for(10ms);
  std::this_thread::sleep_for(50ms);
  CHECK(copies == 1 + 3);
  kept.push_back(*loader.next());
  CHECK_THROWS_WITH(loader.next(), doctest::Contains("held = 2"));
  kept.pop_back();
  for (int i = 0; i < 50; ++i) CHECK(loader.next().has_value());
  CHECK(loader.stats().device_slabs == 3 + 2);
}

TEST_CASE("on_batch comes before the copy, and what it keeps counts as the consumer's") {
  const Arrays data(400);
  const auto device = device_with();
  LoaderOptions options = on(device);
  options.on_batch = [](Batch& batch) {
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
  options.on_batch = [&](Batch& batch) { hoard.push_back(batch); };
  Loader hoarding(data.dataset(), options);
  CHECK_THROWS_WITH(
      [&] {
        for (int i = 0; i < 50; ++i) hoarding.next();
      }(),
      doctest::Contains("held = 2"));
}

TEST_CASE("a copy that fails is what next() throws, with the device's words, then and from then on") {
  const Arrays data(400);
  for (const std::uint64_t failing : {0U, 1U, 7U, 20U}) {
    const auto device = device_with([failing](const HostWork& work) {
      if (work.number == failing) throw std::runtime_error("struck by lightning");
    });
    Loader loader(data.dataset(), on(device));
    int thrown = 0;
    std::string said;
    for (int i = 0; i < 40 && thrown < 3; ++i) {
      try {
        loader.next();
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::resource);
        said = error.what();
        ++thrown;
      }
    }
    CHECK(thrown == 3);
    CHECK(said.find("host:0") != std::string::npos);
    CHECK(said.find("struck by lightning") != std::string::npos);
  }
}

TEST_CASE("failures of the workers pass the copy by, and bad samples are told beside the batch") {
  const Arrays data(40);
  write_file(data.folder / "data" / (number_key(9) + ".npy"), "\x93NUMPY");
  LoaderOptions options = on(device_with());
  options.fields = {{"npy", array::decode()}};
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

TEST_CASE("memory of the device is bounded, reserved before the first batch, and told") {
  const Arrays data(64);
  LoaderOptions options = on(std::make_shared<HostDevice>(0, HostDeviceOptions{.memory_bytes = 1024}));
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("allocate: no memory for"));
  const auto device = device_with();
  options = on(device);
  options.max_items = 4096;
  Loader loader(data.dataset(), options);
  const std::uint64_t reserved = device->allocated();
  CHECK(loader.stats().device_bytes == reserved);
  for (int epoch = 0; epoch < 5; ++epoch) digests_of(loader);
  CHECK(device->allocated() == reserved);
  const Stats stats = loader.stats();
  CHECK(stats.staging == "page-locked memory for host:0");
  CHECK(device->pinned() >= stats.slab_bytes);
  CHECK(device->pinned() < stats.slab_bytes + 4096 * stats.slabs);  // of pages
  std::ostringstream table;
  table << stats;
  CHECK(table.str().find("staging     page-locked memory for host:0") != std::string::npos);
  CHECK(table.str().find("device      host:0: the processor in a device's place: ") != std::string::npos);
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

TEST_CASE("the copy is a stage: its time is the device's, and what the consumer waited for adds up") {
  const Arrays data(160);
  const auto device = device_with([](const HostWork&) { std::this_thread::sleep_for(5ms); });
  LoaderOptions options = on(device);
  options.fields = {{"npy", array::decode()}};
  Loader loader(data.dataset(), options);
  loader.next();
  loader.reset_stats();
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (loader.next()) {
    }
  }
  const Stats stats = loader.stats();
  const StageStats& copy = stats.stages.back();
  CHECK(copy.name == "copy");
  CHECK(seconds(copy.busy) > 0.8 * seconds(stats.wall));
  CHECK(seconds(copy.busy) < 1.2 * seconds(stats.wall));
  CHECK(stats.waited_for.back().first == "copy");
  CHECK(stats.waited_for.back().second > stats.consumer_wait * 0.7);
  std::chrono::nanoseconds sum{};
  for (const auto& [name, time] : stats.waited_for) sum += time;
  CHECK(seconds(sum) == doctest::Approx(seconds(stats.consumer_wait)).epsilon(0.001));
}

TEST_CASE("copies go on while the consumer's stream works") {
  const Arrays data(240);
  std::atomic<bool> copying{false};
  const auto device = device_with([&](const HostWork&) {
    copying = true;
    std::this_thread::sleep_for(4ms);
    copying = false;
  });
  LoaderOptions options = on(device);
  options.fields = {{"npy", array::decode()}};
  Loader loader(data.dataset(), options);
  const auto stream = device->make_stream();
  const auto done = device->make_event();
  std::atomic<int> beside{0};
  for (int i = 0; i < 28; ++i) {
    const auto batch = loader.next();
    batch->wait(stream->handle());
    device->enqueue(stream->handle(), [&] {
      bool seen = false;
      for (int slice = 0; slice < 12; ++slice) {
        std::this_thread::sleep_for(1ms);
        seen |= copying;
      }
      beside += seen;
    });
  }
  done->record(stream->handle());
  done->wait();
  CHECK(beside.load() > 14);  // fewer, where a copy takes the memory let go last, and waits for the last step
}

TEST_CASE("a loader that ends or jumps at random moments gives everything back, whatever is on its way") {
  const Arrays data(64);
  const Dataset dataset = packed(data.dataset(), data.folder / "tar", "tar");
  { const Loader warm(dataset, on(nullptr)); }
  const std::ptrdiff_t before = thread_count();
  std::mt19937 random(21);
  for (int round = 0; round < 400; ++round) {
    const bool slow = random() % 2 == 0;
    const std::uint64_t failing = random() % 8 == 0 ? random() % 6 : ~std::uint64_t{0};
    auto device = device_with([=](const HostWork& work) {
      if (slow) std::this_thread::sleep_for(std::chrono::microseconds(work.number * 97 % 400));
      if (work.number == failing) throw std::runtime_error("off");
    });
    LoaderOptions options = on(device, static_cast<std::uint32_t>(1 + random() % 16));
    options.prefetch = static_cast<unsigned>(1 + random() % 3);
    options.device_prefetch = static_cast<unsigned>(1 + random() % 3);
    if (random() % 3 == 0) options.on_batch = [](Batch&) {};
    std::vector<Batch> kept;
    {
      Loader loader(dataset, options);
      try {
        for (auto take = random() % 8; take > 0; --take) {
          auto batch = loader.next();
          if (!batch) break;
          if (random() % 2 == 0) batch->wait(kDefaultStream);
          if (kept.empty() && random() % 3 == 0) kept.push_back(*batch);
          if (random() % 5 == 0) loader.set_epoch(random() % 3);
        }
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::resource);
      }
      if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    }
    kept.clear();
    CHECK(device->allocated() == 0);
    CHECK(device->pinned() == 0);
  }
  CHECK(thread_count() <= before);
}

TEST_CASE("a copy that never ends does not keep its loader from ending") {
  const Arrays data(64);
  std::promise<void> opened;
  const auto open = opened.get_future().share();
  const auto device = device_with([open](const HostWork&) { open.wait(); });
  const auto begun = std::chrono::steady_clock::now();
  { const Loader loader(data.dataset(), on(device)); }
  CHECK(std::chrono::steady_clock::now() - begun < 8s);
  opened.set_value();
}

TEST_CASE("normalizing on the device gives the bytes of the host, and uint8 is what crosses") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 40, .seed = 3, .workers = 1, .classes = 2});
  const Dataset dataset = open(folder / "icons");
  const std::vector<float> mean{0.485F, 0.456F, 0.406F}, deviation{0.229F, 0.224F, 0.225F};
  const Chain pixels = field("png") | image::random_resized_crop(24) | image::random_flip();
  std::vector<FieldChain> fields{{"planes", pixels | image::normalize(mean, deviation)},
                                 {"last", pixels | image::channels_last() | image::normalize(mean, deviation)},
                                 {"half", pixels | image::normalize(mean, deviation) | image::cast(DType::f16)},
                                 {"brain", pixels | image::cast(DType::bf16) | image::channels_last()},
                                 {"bytes", pixels},
                                 {"cls", label()}};
  LoaderOptions options{.batch_size = 7, .shuffle = true, .workers = 2, .fields = fields};
  Loader plain(dataset, options);
  std::atomic<std::uint64_t> crossed{0}, passes{0};
  const auto device = device_with([&](const HostWork& work) {
    if (work.kind == HostWork::Kind::copy_in) crossed += work.bytes;
    if (work.kind == HostWork::Kind::image) ++passes;
  });
  options.on_device = device;
  const std::uint64_t of_bytes = 24 * 24 * 3 * 40;
  {
    Loader loader(dataset, options);
    CHECK(digests_of(loader) == digests_of(plain));
    CHECK(loader.state().transforms == plain.state().transforms);
    const auto batch = loader.next();
    const auto same = plain.next();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      CHECK(batch->fields()[i].name == fields[i].first);
      CHECK(batch->fields()[i].values.dtype == same->fields()[i].values.dtype);
      CHECK(batch->fields()[i].values.shape == same->fields()[i].values.shape);
    }
    const auto account = loader.explain(*batch, 3);
    CHECK(account.outputs[0].account.chain == plain.explain(*same, 3).outputs[0].account.chain);
    CHECK(digest_of(loader.at(0, 2)) == digest_of(plain.at(0, 2)));
  }
  CHECK(passes >= 4 * 6);
  CHECK(crossed < 3 * 5 * of_bytes);  // of two epochs and a bit; float32 alone would be eight times one output's

  options.where = Where::host;
  passes = 0;
  {
    Loader loader(dataset, options);
    plain.set_epoch(0);
    CHECK(digests_of(loader) == digests_of(plain));
  }
  CHECK(passes == 0);

  options.where = Where::device;
  options.fields = {{"bytes", pixels}, {"cls", label()}};
  CHECK_THROWS_WITH((Loader{dataset, options}), doctest::Contains("where is \"device\""));
}

namespace {

/// Clouds of `points` points with normals and an intensity, arrays (60, 3) and scans of x, y, z, reflectance.
void write_points(const std::filesystem::path& folder, std::uint64_t count) {
  std::minstd_rand random(17);
  const auto number = [&] { return static_cast<float>(random() % 20001) / 1000 - 10; };
  const auto numbers = [&](std::size_t wanted) {
    std::vector<float> values(wanted);
    for (float& value : values) value = number();
    return values;
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t points = i == 3 ? 0 : 20 + random() % 60;
    const auto coordinates = numbers(points * 3), nx = numbers(points), ny = numbers(points), nz = numbers(points);
    std::vector<std::byte> bytes;
    encode_cloud(
        {.points = points,
         .origin = {1000.0, 0, 0},
         .attributes = {{"nx", DType::f32}, {"ny", DType::f32}, {"nz", DType::f32}}},
        {.coordinates = coordinates,
         .attributes = {std::as_bytes(std::span(nx)), std::as_bytes(std::span(ny)), std::as_bytes(std::span(nz))}},
        bytes);
    write_file(folder / (number_key(i) + ".scan"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    write_file(folder / (number_key(i) + ".npy"), npy_file(numbers(180), "(60, 3)"));
    const auto scan = numbers(4 * (1 + random() % 30));
    write_file(folder / (number_key(i) + ".bin"),
               {reinterpret_cast<const char*>(scan.data()), scan.size() * sizeof(float)});
  }
}

}  // namespace

TEST_CASE("points that are moved on the device have the bytes of the host, whatever the steps and their order") {
  const TemporaryFolder folder;
  write_points(folder / "points", 40);
  const Dataset dataset = packed(open(folder / "points"), folder / "tar", "tar");
  const Chain taken = field("npy") | points::sample(33);
  const std::vector<FieldChain> fields{
      {"npy", points::center() | points::unit_sphere() | points::rotate() | points::jitter()},
      {"backwards", taken | points::jitter(0.1, 0.15) | points::rotate("free") | points::unit_sphere() |
                        points::center() | points::random_scale() | points::shift() | points::scale(0.5)},
      {"planes", taken | points::rotate() | points::jitter() | points::channels_first()},
      {"wide", taken | points::cast(DType::f64)},
      {"wide planes", taken | points::rotate("free") | points::channels_first() | points::cast(DType::f64)},
      {"long", taken | points::center() | points::jitter() | points::center() | points::jitter() | points::center() |
                   points::jitter() | points::center() | points::jitter() | points::center() | points::jitter() |
                   points::center() | points::jitter() | points::center() | points::rotate()},
      {"interrupted", taken | points::jitter() | points::unit_box() | points::rotate()},
      {"normals", field("scan") | points::decode({"nx", "ny", "nz"}) | points::rotate("free") | points::jitter()},
      {"ragged wide", field("scan") | points::center() | points::cast(DType::f64)},
      {"numbers", field("scan") | follow("normals") | points::attribute("nx")},
      {"bin", points::decode({}, 4) | points::center() | points::unit_sphere() | points::jitter(0.02, 0.03)},
      {"half", taken | points::center() | points::cast(DType::f16)},
      {"brain", taken | points::rotate() | points::channels_first() | points::cast(DType::bf16)}};
  LoaderOptions options{.batch_size = 7, .shuffle = true, .seed = 5, .workers = 2, .fields = fields};
  Loader plain(dataset, options);
  std::atomic<std::uint64_t> passes{0}, copies{0};
  const auto device = device_with([&](const HostWork& work) {
    passes += work.kind == HostWork::Kind::points;
    copies += work.kind == HostWork::Kind::copy_in;
  });
  options.on_device = device;
  constexpr std::uint64_t kCopies = 1 + 4;  // of a batch: what is of fixed size, and what is ragged
  for (const Where where : {Where::automatic, Where::device}) {
    options.where = where;
    passes = copies = 0;
    plain.set_epoch(0);
    {
      Loader loader(dataset, options);
      for (int epoch = 0; epoch < 2; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
      CHECK(loader.state().transforms == plain.state().transforms);
      const auto batch = loader.next(), same = plain.next();
      for (std::size_t i = 0; i < batch->fields().size(); ++i) {
        CHECK(batch->fields()[i].name == same->fields()[i].name);
        CHECK(batch->fields()[i].values.dtype == same->fields()[i].values.dtype);
        CHECK(batch->fields()[i].values.shape == same->fields()[i].values.shape);
      }
      CHECK(digest_of(loader.at(1, 2)) == digest_of(plain.at(1, 2)));
    }
    CHECK(copies >= 2 * 6 * kCopies);  // and those of batches ahead of the consumer; all are over with the loader
    CHECK(passes * kCopies == copies * (where == Where::device ? 12 : 10));
  }
  options.where = Where::host;
  options.max_items = 100;
  passes = 0;
  plain.set_epoch(0);
  Loader on_host(dataset, options);
  CHECK(digests_of(on_host) == digests_of(plain));
  CHECK(passes == 0);

  options.where = Where::device;
  options.fields = {{"npy", points::sample(10) | points::channels_first()}};
  CHECK_THROWS_WITH((Loader{dataset, options}), doctest::Contains("where is \"device\""));
}

TEST_CASE(
    "points moved on the device are drawn for the samples that are there: replacements, and memory that is full") {
  const TemporaryFolder folder;
  write_points(folder / "points", 30);
  for (const std::uint64_t bad : {4U, 9U, 20U}) write_file(folder / "points" / (number_key(bad) + ".npy"), "no array");
  const Dataset dataset = open(folder / "points");
  LoaderOptions options{.batch_size = 4, .shuffle = true, .workers = 2, .on_error = OnError::replace};
  options.max_error_rate = 0.5;
  options.max_items = 90;
  options.fields = {{"npy", points::rotate() | points::jitter()},
                    {"scan", points::rotate("free") | points::jitter() | points::cast(DType::f64)}};
  Loader plain(dataset, options);
  const auto device = device_with();
  options.on_device = device;
  Loader loader(dataset, options);
  const std::uint64_t reserved = device->allocated();
  for (int epoch = 0; epoch < 2; ++epoch) CHECK(digests_of(loader) == digests_of(plain));
  CHECK(device->allocated() == reserved);
  CHECK(loader.stats().bad_samples == plain.stats().bad_samples);
}

TEST_CASE("what on_batch sees, and rows that are marked, are the same with a device") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 24, .seed = 3, .workers = 1, .classes = 2});
  std::filesystem::path broken;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "icons")) {
    if (entry.path().extension() == ".png" && (broken.empty() || entry.path() < broken)) broken = entry.path();
  }
  write_file(broken, "no image");
  LoaderOptions options{.batch_size = 8, .workers = 2};
  options.fields = {{"png", image::resize(16, 16) | image::normalize({0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F})}};
  options.on_error = OnError::mark;
  options.max_error_rate = 0.5;
  Loader plain(open(folder / "icons"), options);
  options.on_device = device_with();
  Loader marking(open(folder / "icons"), options);
  CHECK(digests_of(marking) == digests_of(plain));
  options.on_error = OnError::replace;
  options.on_batch = [](Batch& batch) { CHECK(batch["png"].values.dtype == DType::f32); };
  Loader stepping(open(folder / "icons"), options);
  CHECK(stepping.next()->number() == 0);
}

TEST_CASE("devices that are not there are refused in the constructor") {
  const Arrays data(8);
  LoaderOptions options = on(nullptr);
  options.device = "tpu:0";
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("a device is \"cuda\""));
  options.device = "cuda:999";
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("no device cuda:999: "));
  options.device = "host";
  options.device_prefetch = 0;
  CHECK_THROWS_WITH((Loader{data.dataset(), options}), doctest::Contains("device_prefetch"));
  options.device_prefetch = 1;
  Loader loader(data.dataset(), options);
  CHECK(loader.next()->device() == DeviceId{});
}
