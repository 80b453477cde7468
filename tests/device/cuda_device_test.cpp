// CudaDevice itself, on CUDA's stand-in (fake_cuda.hpp): which device each call works on, what becomes of the caller's
// own context and of refusals. Complaints of the stand-in fail the program.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fake_cuda_things.hpp"

using namespace penstock;
using namespace penstock::test::cuda;
using namespace std::chrono_literals;
namespace cuda = penstock::test::cuda;

namespace {

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
