// Tests that the stand-in for a device is as asynchronous, as ordered and as unforgiving as a real one.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <device/file_reads.hpp>
#include <device/host/host_device.hpp>
#include <penstock/error.hpp>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

/// Work that stands still until it is let go.
struct Barrier {
  std::promise<void> promise;
  std::shared_future<void> opened{promise.get_future()};
  void open() { promise.set_value(); }
};

}  // namespace

TEST_CASE("names of devices are read, and what is none is refused") {
  CHECK(device_named("cuda") == DeviceId{DeviceId::Kind::cuda, 0});
  CHECK(device_named("cuda:3") == DeviceId{DeviceId::Kind::cuda, 3});
  CHECK(to_string(device_named("host")) == "host:0");
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "host:99999", "cuda:0:0"}) {
    CHECK_THROWS_AS(device_named(name), Error);
  }
  CHECK(open_device("host:7") == open_device("host:7"));
  CHECK(open_device("host:7") != open_device("host:8"));
}

TEST_CASE("a copy returns before it is done, and an event tells when it is") {
  Barrier barrier;
  const auto device = std::make_shared<HostDevice>(0, HostDeviceOptions{.before = [&](const HostWork& work) {
                                                     CHECK(work.bytes == 4000);
                                                     barrier.opened.wait();
                                                   }});
  std::vector<int> host(1000);
  std::iota(host.begin(), host.end(), 0);
  const DeviceMemory memory(device, 4000);
  const auto stream = device->make_stream();
  const auto event = device->make_event();
  CHECK(event->done());  // never recorded
  event->wait();
  device->copy_in(memory.data(), host.data(), 4000, stream->handle());
  event->record(stream->handle());
  CHECK_FALSE(event->done());
  barrier.open();
  event->wait();
  CHECK(event->done());
  std::vector<int> back(1000);
  device->copy_out(back.data(), memory.data(), 4000, stream->handle());
  event->record(stream->handle());
  event->wait();
  CHECK(back == host);
}

TEST_CASE("a stream that waits for an event stands still, and others go on") {
  HostDevice device(0);
  Barrier barrier;
  std::atomic<int> first{0}, second{0}, third{0};
  const auto a = device.make_stream(), b = device.make_stream(), c = device.make_stream();
  const auto event = device.make_event(), done = device.make_event();
  device.enqueue(a->handle(), [&] {
    barrier.opened.wait();
    first = 1;
  });
  event->record(a->handle());
  device.wait(b->handle(), *event);
  event->record(c->handle());  // the wait keeps the place that was recorded before
  device.enqueue(b->handle(), [&] { second = first + 1; });
  device.enqueue(c->handle(), [&] { third = 3; });
  done->record(c->handle());
  done->wait();
  CHECK(third == 3);
  CHECK(second == 0);
  barrier.open();
  done->record(b->handle());
  done->wait();
  CHECK(second == 2);
}

TEST_CASE("the time between two events is that of the work between them") {
  HostDevice device(0);
  const auto from = device.make_event(), to = device.make_event();
  from->record(kDefaultStream);
  device.enqueue(kDefaultStream, [] { std::this_thread::sleep_for(20ms); });
  to->record(kDefaultStream);
  to->wait();
  CHECK(device.between(*from, *to) >= 20ms);
  CHECK(device.between(*from, *to) < 20s);
}

TEST_CASE("a stream may end before its work is done, which is done all the same") {
  std::atomic<int> done{0};
  {
    HostDevice device(0);
    for (int i = 0; i < 10; ++i) {
      const auto stream = device.make_stream();
      device.enqueue(stream->handle(), [&] {
        std::this_thread::sleep_for(1ms);
        ++done;
      });
    }
  }
  CHECK(done == 10);
}

TEST_CASE("work that fails fails the device: nothing later is done, and every result is an error") {
  const auto device = std::make_shared<HostDevice>(0, HostDeviceOptions{.before = [](const HostWork& work) {
                                                     if (work.number == 1)
                                                       throw std::runtime_error("struck by lightning");
                                                   }});
  const DeviceMemory memory(device, 4);
  const auto stream = device->make_stream();
  const auto before = device->make_event(), after = device->make_event();
  const int one = 1, two = 2, three = 3;
  device->copy_in(memory.data(), &one, 4, stream->handle());
  before->record(stream->handle());
  before->wait();
  device->copy_in(memory.data(), &two, 4, stream->handle());
  try {  // enqueued before the failure or after it
    after->record(stream->handle());
    CHECK_THROWS_WITH(after->wait(), "resource: host:0: event: struck by lightning");
    CHECK_THROWS_AS(after->done(), Error);
    device->copy_in(memory.data(), &three, 4, stream->handle());
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::resource);
    CHECK(error.cause().find("struck by lightning") != std::string::npos);
  }
  CHECK(*reinterpret_cast<const int*>(memory.data()) == 1);
}

TEST_CASE("memory and pins are counted, bounded and given back; a refusal to pin is told, not thrown") {
  const auto device = std::make_shared<HostDevice>(0, HostDeviceOptions{.memory_bytes = 1 << 20});
  {
    const DeviceMemory memory(device, 1 << 19);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 256 == 0);
    CHECK(device->allocated() == 1 << 19);
    CHECK_THROWS_WITH(DeviceMemory(device, (1 << 19) + 1), "resource: host:0: allocate: no memory for 524289 bytes");
    std::vector<std::byte> pages(4096);
    const Pin pin(device, pages);
    CHECK(pin.pinned());
    CHECK(device->pinned() == 4096);
  }
  CHECK(device->allocated() == 0);
  CHECK(device->pinned() == 0);
  std::vector<std::byte> pages(4096);
  const auto refusing = std::make_shared<HostDevice>(1, HostDeviceOptions{.refuse_pin = "no more of it"});
  const Pin pin(refusing, pages);
  CHECK_FALSE(pin.pinned());
  CHECK(pin.refusal() == "host:1: pin: no more of it");
  CHECK(Pin(nullptr, pages).refusal().empty());
}

TEST_CASE("files are read to their place in the device's memory, and answers are passed on, or made worse") {
  std::atomic<bool> failing{false};
  HostDeviceOptions options{.before = [](const HostWork& work) {
    if (work.number == 3) throw std::runtime_error("struck by lightning");
  }};
  options.file_answer = [&](std::int64_t answer) { return failing ? -EIO : answer; };
  const auto device = std::make_shared<HostDevice>(0, options);
  const auto reads = device->file_reads();
  const DeviceMemory memory(device, 8);
  const FileAttachment attachment(reads, memory.data(), memory.size());
  CHECK(device->attached() == 8);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stored(std::tmpfile(), std::fclose);
  std::fputs("0123456789", stored.get());
  std::fflush(stored.get());
  const auto file = reads->open(::fileno(stored.get()));
  CHECK_FALSE(file->bounced().empty());
  CHECK(file->read(memory.data(), 2, 5, 4) == 5);
  CHECK(std::memcmp(memory.data() + 2, "45678", 5) == 0);
  CHECK(file->read(memory.data(), 0, 5, 10) == 0);
  failing = true;
  CHECK(file->read(memory.data(), 0, 1, 0) == -EIO);
  CHECK_THROWS_WITH(file->read(memory.data(), 0, 1, 0), "resource: host:0: read: struck by lightning");
  CHECK_THROWS_AS(device->make_stream(), Error);
  HostDevice without(1, {.refuse_files = "no cuFile"});
  CHECK_THROWS_WITH(without.file_reads(), "unsupported: host:1: no cuFile");
}

TEST_CASE("streams that nobody made are refused") {
  HostDevice device(0);
  CHECK_THROWS_WITH(device.copy_in(nullptr, nullptr, 0, 99), "invalid argument: host:0 has no stream 99");
  StreamHandle ended = 0;
  {
    const auto stream = device.make_stream();
    ended = stream->handle();
  }
  CHECK_THROWS_AS(device.make_event()->record(ended), Error);
}
