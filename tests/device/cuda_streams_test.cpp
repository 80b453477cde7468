// What CudaDevice enqueues, on CUDA's stand-in (fake_cuda.hpp): its order within streams and between them, the time it
// takes, and how its failures are told. Complaints of the stand-in fail the program.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <device/device.hpp>
#include <device/device_use.hpp>

#include "fake_cuda_things.hpp"

using namespace penstock;
using namespace penstock::test::cuda;
using namespace std::chrono_literals;
namespace cuda = penstock::test::cuda;

TEST_CASE("work is done in order within a stream, beside other streams, and nobody waits who does not ask to") {
  const Opened opened("cuda:1");
  Device& device = *opened.device;
  const Pages<int> host(1000), back(1000);
  std::iota(host.data(), host.data() + 1000, 1);
  const auto bytes = host.bytes();
  const Pin pin(opened.device, std::as_writable_bytes(host.values()));
  const Pin pin_back(opened.device, std::as_writable_bytes(back.values()));
  const DeviceMemory memory(opened.device, bytes);
  const auto a = device.make_stream(), b = device.make_stream();
  const auto copied = device.make_event(), read = device.make_event();
  CHECK(copied->done());  // never recorded
  copied->wait();
  Gate gate(device, a->handle());
  device.copy_in(memory.data(), host.data(), bytes, a->handle());
  copied->record(a->handle());
  device.wait(b->handle(), *copied);
  copied->record(b->handle());  // the wait keeps the place that was recorded before
  device.copy_out(back.data(), memory.data(), bytes, b->handle());
  read->record(b->handle());
  std::this_thread::sleep_for(10ms);
  CHECK_FALSE(read->done());
  CHECK_FALSE(copied->done());
  CHECK(back.data()[999] == 0);
  gate.open();
  read->wait();
  CHECK(read->done());
  CHECK(std::ranges::equal(back.values(), host.values()));
  CHECK(cuda::copies_of_plain_memory() == 0);
}

TEST_CASE("kernels take their turn in a stream, and the time between events is that of the work between them") {
  const Opened opened("cuda:1");
  Device& device = *opened.device;
  const Picture picture(opened.device);
  const auto stream = device.make_stream();
  const auto uploaded = device.make_event(), from = device.make_event(), to = device.make_event();
  uploaded->record(kDefaultStream);
  device.wait(stream->handle(), *uploaded);
  from->record(stream->handle());
  from->wait();
  Gate gate(device, stream->handle());
  device.run(picture.pass, stream->handle());
  to->record(stream->handle());
  std::this_thread::sleep_for(20ms);
  CHECK_FALSE(to->done());  // which is no failure that a later kernel hears of
  device.run(picture.pass, stream->handle());
  CHECK_THROWS_AS(device.between(*from, *to), Error);
  CHECK_FALSE(picture.right(device));
  gate.open();
  to->wait();
  CHECK(device.between(*from, *to) >= 20ms);
  CHECK(device.between(*from, *to) < 20s);
  CHECK(picture.right(device));
}

TEST_CASE("work that fails is told by the event behind it, and by all later calls; other devices go on") {
  for (const bool asks : {false, true}) {
    const Opened opened("cuda:1");
    Device& device = *opened.device;
    const auto other = open_device("cuda:2");
    {
      const Picture picture(opened.device), sound(other);
      const DeviceUse use(opened.device);
      const auto stream = device.make_stream();
      const auto before = device.make_event(), after = device.make_event();
      before->record(kDefaultStream);
      before->wait();
      Gate gate(device, stream->handle());
      device.run(picture.pass, stream->handle());
      after->record(stream->handle());
      cuda::strike(1, cudaErrorIllegalAddress);
      gate.open();
      std::string error;
      if (asks) {
        error = error_of([&] {
          while (!after->done()) std::this_thread::yield();
        });
        CHECK(says(error, "resource: cuda:1: cudaEventQuery: "));
      } else {
        error = error_of([&] { after->wait(); });
        CHECK(says(error, "resource: cuda:1: cudaEventSynchronize: "));
      }
      CHECK(says(error, "(cudaErrorIllegalAddress)"));
      for (int time = 0; time < 2; ++time) {  // as long as the process lives
        CHECK_THROWS_AS(before->done(), Error);
        CHECK_THROWS_AS(device.run(picture.pass, stream->handle()), Error);
        CHECK_THROWS_AS(device.allocate(64), Error);
      }
      other->run(sound.pass, kDefaultStream);
      CHECK(sound.right(*other));
    }
    CHECK(cuda::alive() == cuda::Alive{});
    CHECK(cuda::complaints().empty());
  }
}

TEST_CASE("memory that goes round between streams, with delays everywhere: each reader sees its own round, whole") {
  const Opened opened("cuda:0");
  Device& device = *opened.device;
  std::atomic<unsigned> seed{1};
  cuda::before_work([&] { std::this_thread::sleep_for(std::chrono::microseconds(std::minstd_rand(seed++)() % 200)); });
  constexpr std::size_t kWords = 1024, kBuffers = 3, kRounds = 200;
  const Pages<std::uint32_t> sources(kBuffers * kWords), results(kRounds * kWords);
  const Pin pins[] = {{opened.device, std::as_writable_bytes(sources.values())},
                      {opened.device, std::as_writable_bytes(results.values())}};
  std::vector<DeviceMemory> memory;
  std::vector<std::unique_ptr<DeviceUse>> uses;
  std::vector<std::unique_ptr<Event>> copied;
  for (std::size_t i = 0; i < kBuffers; ++i) {
    memory.emplace_back(opened.device, kWords * 4);
    uses.push_back(std::make_unique<DeviceUse>(opened.device));
    copied.push_back(device.make_event());
  }
  const auto writer = device.make_stream(), reader = device.make_stream();
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::size_t i = round % kBuffers;
    copied[i]->wait();
    std::fill_n(sources.data() + i * kWords, kWords, static_cast<std::uint32_t>(round));
    uses[i]->begin_write(writer->handle());
    device.copy_in(memory[i].data(), sources.data() + i * kWords, kWords * 4, writer->handle());
    uses[i]->written(writer->handle());
    copied[i]->record(writer->handle());
    uses[i]->wait(reader->handle());
    device.copy_out(results.data() + round * kWords, memory[i].data(), kWords * 4, reader->handle());
    uses[i]->released();
  }
  uses.clear();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kRounds * kWords; ++i) wrong += results.data()[i] != i / kWords;
  CHECK(wrong == 0);
  CHECK(cuda::copies_of_plain_memory() == 0);
}
