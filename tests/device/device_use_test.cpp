// Memory that goes round between a writer and readers in other streams: nobody reads what is half written, and nobody
// writes what is still read.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <device/device_use.hpp>
#include <device/host/host_device.hpp>
#include <penstock/error.hpp>

using namespace penstock;
using namespace std::chrono_literals;

TEST_CASE("rounds through three buffers, with delays everywhere: each reader sees its own round, whole") {
  constexpr std::size_t kWords = 256;
  constexpr int kRounds = 300;
  std::atomic<unsigned> seed{1};
  const auto pause = [&] { std::this_thread::sleep_for(std::chrono::microseconds(std::minstd_rand(seed++)() % 200)); };
  const auto device = std::make_shared<HostDevice>(0, HostDeviceOptions{.before = [&](const HostWork&) { pause(); }});
  struct Buffer {
    explicit Buffer(const std::shared_ptr<Device>& on) : memory(on, kWords * 4), use(on) {}
    DeviceMemory memory;
    DeviceUse use;
  };
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(std::make_unique<Buffer>(device));
  const auto writer = device->make_stream(), reader = device->make_stream(), other = device->make_stream();
  const auto copied = device->make_event();
  std::vector<std::vector<std::uint32_t>> sources(kRounds);
  std::atomic<int> wrong{0}, seen{0};
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    Buffer& buffer = *buffers[round % buffers.size()];
    sources[round].assign(kWords, round);
    buffer.use.begin_write(writer->handle());
    device->copy_in(buffer.memory.data(), sources[round].data(), kWords * 4, writer->handle());
    buffer.use.written(writer->handle());
    for (const StreamHandle stream : {reader->handle(), other->handle()}) {
      if (stream == other->handle() && round % 3 != 0) continue;
      buffer.use.wait(stream);
      device->enqueue(stream, [&, round, data = reinterpret_cast<const std::uint32_t*>(buffer.memory.data())] {
        for (std::size_t i = 0; i < kWords; ++i) {
          if (data[i] != round) ++wrong;
          if (i == kWords / 2) pause();
        }
        ++seen;
      });
    }
    buffer.use.released();
  }
  buffers.clear();  // waits for the readers: their memory ends here
  CHECK(wrong == 0);
  CHECK(seen == kRounds + kRounds / 3);
  CHECK(device->allocated() == 0);
}

TEST_CASE("the host never waits: neither for what is written, nor for what is read") {
  std::promise<void> opened;
  const auto open = opened.get_future().share();
  const auto device =
      std::make_shared<HostDevice>(0, HostDeviceOptions{.before = [&](const HostWork&) { open.wait(); }});
  const DeviceMemory memory(device, 8);
  DeviceUse use(device);
  const auto writer = device->make_stream();
  const std::uint64_t value = 7;
  std::atomic<std::uint64_t> read{0};
  for (int round = 0; round < 3; ++round) {
    use.begin_write(writer->handle());
    device->copy_in(memory.data(), &value, 8, writer->handle());
    use.written(writer->handle());
    CHECK_FALSE(use.ready());
    use.wait(kDefaultStream);
    device->enqueue(kDefaultStream, [&] { read += *reinterpret_cast<const std::uint64_t*>(memory.data()); });
    use.released();
  }
  CHECK(read == 0);
  opened.set_value();
  use.synchronize();
  CHECK(use.ready());
  const auto event = device->make_event();
  event->record(kDefaultStream);
  event->wait();
  CHECK(read == 21);
}

TEST_CASE("a reader that names no stream is taken to use the default stream; what nobody read waits for nobody") {
  std::promise<void> opened;
  const auto open = opened.get_future().share();
  const auto device = std::make_shared<HostDevice>(0);
  const DeviceMemory memory(device, 8);
  DeviceUse use(device);
  const auto writer = device->make_stream();
  const auto after = device->make_event();
  const std::uint64_t value = 7;
  device->enqueue(kDefaultStream, [&] { open.wait(); });  // what the reader does there
  for (const bool read : {false, true}) {
    use.begin_write(writer->handle());
    device->copy_in(memory.data(), &value, 8, writer->handle());
    use.written(writer->handle());
    use.synchronize();
    use.released(read);
  }
  use.begin_write(writer->handle());
  after->record(writer->handle());
  std::this_thread::sleep_for(10ms);
  CHECK_FALSE(after->done());
  opened.set_value();
  after->wait();
}

TEST_CASE("a failed copy is told by whoever asks for its memory, and the end is quiet") {
  const auto device = std::make_shared<HostDevice>(
      0, HostDeviceOptions{.before = [](const HostWork&) { throw Error::resource("out of order"); }});
  const DeviceMemory memory(device, 8);
  DeviceUse use(device);
  const std::uint64_t value = 7;
  use.begin_write(kDefaultStream);
  device->copy_in(memory.data(), &value, 8, kDefaultStream);
  try {
    use.written(kDefaultStream);
    use.synchronize();
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.cause().find("out of order") != std::string::npos);
  }
  CHECK_THROWS_AS(use.wait(kDefaultStream), Error);
  use.released();
}
