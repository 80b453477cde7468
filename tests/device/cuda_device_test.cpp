// CudaDevice itself, on CUDA's stand-in (fake_cuda.hpp): which device each call works on, what becomes of the caller's
// own context, of refusals and of failures. Complaints of the stand-in fail the program.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/device/cuda.hpp>
#include <penstock/device/device_memory.hpp>
#include <penstock/device/device_use.hpp>
#include <penstock/device/host_device.hpp>
#include <penstock/formats/error.hpp>

#include "fake_cuda.hpp"

using namespace penstock;
using namespace std::chrono_literals;
namespace cuda = penstock::test::cuda;

namespace {

/// The error that a call ends in; empty: none.
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool says(const std::string& error, const std::string& text) {
  return error.find(text) != std::string::npos;
}

/// Work that stands still in a stream until it is let go.
class Gate {
 public:
  Gate(Device& device, StreamHandle stream) {
    const auto wait = [](void* opened) { static_cast<std::atomic<bool>*>(opened)->wait(false); };
    in_context(device,
               [&] { CHECK(cudaLaunchHostFunc(reinterpret_cast<cudaStream_t>(stream), wait, &open_) == cudaSuccess); });
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_{false};
};

/// Zeroes in pages of their own: two ranges that share one cannot both be pinned.
template <typename T>
class Pages {
 public:
  explicit Pages(std::size_t count) : count_(count), data_(new (kPage) T[count]()) {}
  T* data() const { return data_.get(); }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::span<T> values() const { return {data(), count_}; }

 private:
  static constexpr std::align_val_t kPage{4096};
  struct Delete {
    void operator()(T* data) const { ::operator delete[](data, kPage); }
  };
  std::size_t count_;
  std::unique_ptr<T[], Delete> data_;
};

/// A device that closed everything behind it.
struct Opened {
  explicit Opened(const char* name) {
    cuda::begin_anew();
    device = open_device(name);
  }
  std::shared_ptr<Device> device;
};

/// One image of four pixels, on the device and as it becomes there.
struct Picture {
  explicit Picture(std::shared_ptr<Device> on) : in(on, 12), out(on, 48) {
    for (std::size_t i = 0; i < 12; ++i) pixels[i] = static_cast<std::uint8_t>(i * 20);
    on->copy_in(in.data(), pixels, 12, kDefaultStream);
    pass.in_height = pass.height = 1, pass.in_width = pass.width = 4, pass.rows = 1;
    pass.in = pixels, pass.out = expected;
    run_on_host(pass);
    pass.in = reinterpret_cast<const std::uint8_t*>(in.data()), pass.out = out.data();
  }
  bool right(Device& device) const {
    float found[12] = {};
    device.copy_out(found, out.data(), 48, kDefaultStream);
    return std::memcmp(found, expected, sizeof found) == 0;
  }
  std::uint8_t pixels[12];
  float expected[12] = {};
  DeviceMemory in, out;
  ImagePass pass;
};

struct NamedCall {
  const char* name;
  std::function<void()> call;
};

/// All that a device does, each a call of its own; a later one may need an earlier one.
std::vector<NamedCall> all_calls(std::shared_ptr<Device> device) {
  struct Things {
    Pages<std::byte> pages{8192};
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> event, later;
    void* memory = nullptr;
    std::unique_ptr<Picture> picture;
    PointPass points;
    DeviceMemory cloud;
  };
  const auto mine = std::make_shared<Things>();
  return {
      {"pin", [=] { device->pin(mine->pages.data(), mine->pages.bytes()); }},
      {"allocate", [=] { mine->memory = device->allocate(8192); }},
      {"make_stream", [=] { mine->stream = device->make_stream(); }},
      {"make_event", [=] { mine->event = device->make_event(), mine->later = device->make_event(); }},
      {"copy_in", [=] { device->copy_in(mine->memory, mine->pages.data(), 8192, mine->stream->handle()); }},
      {"record", [=] { mine->event->record(mine->stream->handle()); }},
      {"wait in a stream", [=] { device->wait(kThreadStream, *mine->event); }},
      {"copy_out", [=] { device->copy_out(mine->pages.data(), mine->memory, 8192, kThreadStream); }},
      {"wait", [=] { mine->event->wait(); }},
      {"done", [=] { CHECK(mine->event->done()); }},
      {"record another", [=] { mine->later->record(kThreadStream); }},
      {"wait for another", [=] { mine->later->wait(); }},
      {"between", [=] { CHECK(device->between(*mine->event, *mine->later) >= 0ns); }},
      {"make a picture", [=] { mine->picture = std::make_unique<Picture>(device); }},
      {"run on images", [=] { device->run(mine->picture->pass, kDefaultStream); }},
      {"look at them", [=] { CHECK(mine->picture->right(*device)); }},
      {"make a cloud", [=] { mine->cloud = DeviceMemory(device, 12); }},
      {"run on points",
       [=] {
         auto* point = reinterpret_cast<float*>(mine->cloud.data());
         mine->points.in = mine->points.work = point, mine->points.out = point;
         mine->points.clouds = mine->points.in_points = mine->points.points = 1;
         device->run(mine->points, kDefaultStream);
       }},
      {"wait for the points", [=] { mine->later->record(kDefaultStream), mine->later->wait(); }},
      {"end the picture", [=] { mine->picture.reset(), mine->cloud = {}; }},
      {"end the stream", [=] { mine->stream.reset(); }},
      {"end the events", [=] { mine->event.reset(), mine->later.reset(); }},
      {"deallocate", [=] { device->deallocate(mine->memory); }},
      {"unpin", [=] { device->unpin(mine->pages.data()); }},
  };
}

}  // namespace

TEST_CASE("asking what there is of CUDA begins no context; opening a device begins its own and no other") {
  cuda::begin_anew();
  const CudaFacts facts = cuda_facts();
  CHECK(facts.problem.empty());
  CHECK(facts.devices.size() == cuda::kDevices);
  CHECK(facts.devices.back() == "a GPU's stand-in, 1.5 GiB, compute capability 9.0");
  CHECK_THROWS_AS(open_device("cuda:3"), Error);
  CHECK(cuda::devices_with_context().empty());
  const auto device = open_device("cuda:2");
  CHECK(device->id() == DeviceId{DeviceId::Kind::cuda, 2});
  CHECK(cuda::devices_with_context() == std::vector{2});
  CHECK(cuda::current_context() == nullptr);
}

TEST_CASE("whatever context a thread has, none included, each call works in the device's, and the thread's stays") {
  for (int device_of_caller = -1; device_of_caller < cuda::kDevices; ++device_of_caller) {
    cuda::begin_anew();
    const CUcontext own = device_of_caller < 0 ? nullptr : cuda::new_context(device_of_caller);
    cuda::make_current(own);
    {
      const auto device = open_device("cuda:1");
      CHECK(cuda::current_context() == own);
      for (const NamedCall& each : all_calls(device)) {
        const std::string error = error_of(each.call);
        const bool stays = cuda::current_context() == own;
        CHECK(error.empty());
        CHECK(stays);
        if (!error.empty() || !stays) MESSAGE(std::string(each.name) << " " << error);
      }
      in_context(*device, [&] { CHECK(cuda::current_context() != own); });
      CHECK(cuda::current_context() == own);
      CHECK_THROWS_AS(in_context(*device, [] { throw Error::io(1, "x"); }), Error);
      CHECK(cuda::current_context() == own);
      // A thread's first call, which has no context of its own either.
      std::thread([&] {
        for (const NamedCall& each : all_calls(device)) each.call();
        CHECK(cuda::current_context() == nullptr);
      }).join();
    }
    CHECK(cuda::devices_with_context() == std::vector{1});
    CHECK(cuda::alive() == cuda::Alive{});
    CHECK(cuda::complaints().empty());
  }
}

TEST_CASE("a device that cannot be opened says why, and leaves the thread its context") {
  for (const char* call : {"cudaSetDevice", "cudaFree", "cudaGetDriverEntryPointByVersion", "cudaGetDeviceCount"}) {
    cuda::begin_anew();
    const CUcontext own = cuda::new_context(0);
    cuda::make_current(own);
    cuda::refuse(call, cudaErrorInsufficientDriver);
    const std::string error = error_of([] { open_device("cuda:1"); });
    CHECK(says(error, "cudaErrorInsufficientDriver"));
    CHECK(cuda::current_context() == own);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(open_device("cuda:1")->id().number == 1);
    CHECK(cuda::complaints().empty());
  }
}

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

TEST_CASE("a refusal is an error that names device, call and reason; nothing later, or elsewhere, hears of it") {
  const Opened opened("cuda:1");
  Device& device = *opened.device;
  const Picture picture(opened.device);
  std::vector<std::byte> pages(4096);
  const auto stream = device.make_stream();
  const auto event = device.make_event();
  const auto refused = [&](const char* call, const std::function<void()>& work) {
    cuda::refuse(call, cudaErrorMemoryAllocation);
    const std::string error = error_of(work);
    CHECK(says(error, std::string("resource: cuda:1: ") + call));
    CHECK(says(error, "(cudaErrorMemoryAllocation)"));
    device.run(picture.pass, kDefaultStream);  // the one call whose failure is only heard of by asking for the last one
    CHECK(picture.right(device));
  };
  refused("cudaMalloc", [&] { device.allocate(64); });
  refused("cudaHostRegister", [&] { device.pin(pages.data(), pages.size()); });
  refused("cudaStreamCreateWithPriority", [&] { device.make_stream(); });
  refused("cudaDeviceGetStreamPriorityRange", [&] { device.make_stream(); });
  refused("cudaEventCreateWithFlags", [&] { device.make_event(); });
  refused("cudaEventRecord", [&] { event->record(stream->handle()); });
  refused("cudaEventQuery", [&] { event->done(); });
  refused("cudaEventSynchronize", [&] { event->wait(); });
  refused("cudaStreamWaitEvent", [&] { device.wait(stream->handle(), *event); });
  refused("cudaEventElapsedTime", [&] { device.between(*event, *event); });
  refused("cudaMemcpyAsync", [&] { device.copy_in(picture.out.data(), pages.data(), 48, stream->handle()); });
  refused("cudaMemcpyAsync", [&] { device.copy_out(pages.data(), picture.out.data(), 48, stream->handle()); });
  cuda::refuse("kernel", cudaErrorLaunchOutOfResources);
  CHECK(says(error_of([&] { device.run(picture.pass, kDefaultStream); }), "resource: cuda:1: kernel: "));
  device.run(picture.pass, kDefaultStream);
  CHECK(picture.right(device));

  cuda::refuse("cudaHostRegister", cudaErrorMemoryAllocation);
  const Pin pin(opened.device, pages);
  CHECK_FALSE(pin.pinned());
  CHECK(says(pin.refusal(), "cuda:1: cudaHostRegister: "));
}

TEST_CASE("what fails where nobody can be told does not come back as the failure of a later kernel") {
  const Opened opened("cuda:1");
  Device& device = *opened.device;
  const Picture picture(opened.device);
  const auto unheard = [&](const char* call, const std::function<void()>& work) {
    cuda::refuse(call, cudaErrorIllegalState);
    work();
    const std::string error = error_of([&] { device.run(picture.pass, kDefaultStream); });
    CHECK(error.empty());
    if (!error.empty()) MESSAGE(std::string(call) << ": " << error);
  };
  std::vector<std::byte> pages(4096);
  auto stream = device.make_stream();
  auto event = device.make_event();
  void* const memory = device.allocate(64);
  device.pin(pages.data(), pages.size());
  unheard("cudaHostUnregister", [&] { device.unpin(pages.data()); });
  unheard("cudaFree", [&] { device.deallocate(memory); });
  unheard("cudaStreamDestroy", [&] { stream.reset(); });
  unheard("cudaEventDestroy", [&] { event.reset(); });
  unheard("cudaGetDeviceProperties", [] { CHECK(cuda_facts().devices.front() == "cuda:0"); });
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

TEST_CASE("a context that is gone is an error: no call works in another") {
  const Opened opened("cuda:1");
  Device& device = *opened.device;
  void* const memory = device.allocate(64);
  cuda::refuse("cuCtxSetCurrent", cudaErrorContextIsDestroyed);
  CHECK(says(error_of([&] { device.allocate(64); }), "resource: cuda:1: cuCtxSetCurrent: error 201"));
  cuda::refuse("cuCtxSetCurrent", cudaErrorContextIsDestroyed);
  device.deallocate(memory);  // nobody to tell
  CHECK(cuda::complaints().empty());
  CHECK(cuda::alive().allocations == 1);
  CHECK(cuda::devices_with_context() == std::vector{1});
  device.deallocate(memory);
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

TEST_CASE("threads that share devices, each with streams of its own, do not meet in a wrong context") {
  cuda::begin_anew();
  const std::vector<std::shared_ptr<Device>> devices{open_device("cuda:0"), open_device("cuda:2")};
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(t + 1);
      std::vector<std::byte> pages(3000), back(3000);
      for (int round = 0; round < 40; ++round) {
        const auto& device = devices[random() % 2];
        std::ranges::fill(pages, static_cast<std::byte>(random() % 255));
        const DeviceMemory memory(device, pages.size());
        const auto stream = device->make_stream();
        const auto event = device->make_event();
        const StreamHandle handle = random() % 2 == 0 ? stream->handle() : kThreadStream;
        device->copy_in(memory.data(), pages.data(), pages.size(), handle);
        device->copy_out(back.data(), memory.data(), back.size(), handle);
        event->record(handle);
        event->wait();
        if (back != pages) ++wrong;
        if (round % 10 != 0) continue;
        for (const NamedCall& each : all_calls(device)) each.call();
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
  CHECK(cuda::complaints().empty());
  CHECK(cuda::devices_with_context() == std::vector{0, 2});
}
