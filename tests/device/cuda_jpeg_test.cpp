// NvJpegDecoder on CudaDevice, with nvJPEG and CUDA's runtime both stood in for: contexts, streams, refusals, and the
// hardware engine, which does not wait for what a stream was given before.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <device/cuda/cuda.hpp>
#include <device/cuda/nvjpeg.hpp>
#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <device/jpeg_decoder.hpp>
#include <penstock/error.hpp>

#include "fake_cuda.hpp"
#include "fake_nvjpeg.hpp"
#include "jpeg_samples.hpp"

using namespace penstock;
using namespace std::chrono_literals;
namespace cuda = penstock::test::cuda;
using test::fake_nvjpeg;

namespace {

constexpr JpegSize kSize{40, 24};
constexpr std::size_t kPitch = 128, kBytes = kPitch * 24;
constexpr std::size_t kRed = 3 * 33;  // in the first row, where it is 198

std::span<const std::byte> bytes_of(const std::vector<std::uint8_t>& jpeg) {
  return std::as_bytes(std::span(jpeg));
}

/// All as in a process of its own, and checked at its end.
struct Fresh {
  Fresh() {
    cuda::begin_anew();
    fake_nvjpeg.hardware = true, fake_nvjpeg.microseconds = 0;
    for (auto* status : {&fake_nvjpeg.refuse_handle, &fake_nvjpeg.refuse_state, &fake_nvjpeg.refuse_stream,
                         &fake_nvjpeg.refuse_begin, &fake_nvjpeg.refuse_batch}) {
      *status = 0;
    }
  }
  ~Fresh() {
    CHECK(fake_nvjpeg.handles == 0);
    CHECK(fake_nvjpeg.states == 0);
    CHECK(fake_nvjpeg.streams == 0);
    CHECK(cuda::alive() == cuda::Alive{});
    const std::vector<std::string> complaints = cuda::complaints();
    for (const std::string& each : complaints) MESSAGE(each);
    CHECK(complaints.empty());
  }
};

ErrorKind kind_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::invalid_argument;
}

/// Pixels on the device: what was there before, and an image to be decoded over it.
struct Target {
  explicit Target(std::shared_ptr<Device> on) : memory(std::move(on), kBytes) {
    image = {bytes_of(test::kColor), memory.data(), kPitch};
  }
  std::byte first(Device& device, StreamHandle stream) const {
    std::byte found{};
    device.copy_out(&found, memory.data() + kRed, 1, stream);
    return found;
  }
  DeviceMemory memory;
  JpegOnDevice image;
};

}  // namespace

TEST_CASE("decoding works in the device's context, whatever the threads that ask have, which stays") {
  const Fresh fresh;
  for (const JpegEngine engine : {JpegEngine::hardware, JpegEngine::cuda}) {
    const auto device = open_device("cuda:1");
    const CUcontext own = engine == JpegEngine::cuda ? nullptr : cuda::new_context(0);
    cuda::make_current(own);
    {
      NvJpegDecoder decoder(device, engine);
      CHECK(decoder.description() ==
            (engine == JpegEngine::hardware ? "nvJPEG 13.0.1, hardware engine" : "nvJPEG 13.0.1, CUDA"));
      CHECK(decoder.size(bytes_of(test::kColor)) == kSize);
      CHECK(decoder.size(bytes_of(test::kProgressive)).has_value() == (engine == JpegEngine::cuda));
      const Target target(device);
      const auto stream = device->make_stream();
      decoder.decode({&target.image, 1}, stream->handle());
      CHECK(target.first(*device, stream->handle()) > std::byte{150});
      CHECK(cuda::current_context() == own);
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          for (int i = 0; i < 200; ++i) CHECK(decoder.size(bytes_of(test::kGray)) == kSize);
          CHECK(cuda::current_context() == nullptr);
        });
      }
    }
    CHECK(cuda::current_context() == own);
    cuda::make_current(nullptr);
    CHECK(cuda::devices_with_context() == std::vector{1});
  }
}

TEST_CASE("pixels are not written before the stream is through with what it was given, whatever the engine") {
  const Fresh fresh;
  for (const JpegEngine engine : {JpegEngine::hardware, JpegEngine::cuda}) {
    const auto device = open_device("cuda:0");
    NvJpegDecoder decoder(device, engine);
    const Target target(device);
    const auto stream = device->make_stream();
    std::vector<std::byte> zeros(kBytes);
    device->copy_in(target.memory.data(), zeros.data(), kBytes, stream->handle());
    std::vector<std::byte> back(kBytes, std::byte{1});
    const Pin pin(device, back);  // written when the stream's turn has come
    const auto slow = [](void*) { std::this_thread::sleep_for(30ms); };
    in_context(*device, [&] { cudaLaunchHostFunc(reinterpret_cast<cudaStream_t>(stream->handle()), slow, nullptr); });
    device->copy_out(back.data(), target.memory.data(), kBytes, stream->handle());
    decoder.decode({&target.image, 1}, stream->handle());
    CHECK(target.first(*device, stream->handle()) > std::byte{150});
    CHECK(back[kRed] == std::byte{0});
  }
}

TEST_CASE("what follows in the stream comes behind the pixels, whatever the engine") {
  const Fresh fresh;
  fake_nvjpeg.microseconds = 100'000;
  for (const JpegEngine engine : {JpegEngine::hardware, JpegEngine::cuda}) {
    const auto device = open_device("cuda:0");
    NvJpegDecoder decoder(device, engine);
    const Target first(device), second(device);
    const JpegOnDevice images[] = {first.image, second.image};
    const auto stream = device->make_stream(), other = device->make_stream();
    const auto decoded = device->make_event();
    decoder.decode(images, stream->handle());
    decoded->record(stream->handle());
    CHECK_FALSE(decoded->done());  // enqueued, not waited for
    device->wait(other->handle(), *decoded);
    CHECK(second.first(*device, other->handle()) > std::byte{150});
  }
}

TEST_CASE("without the engine that was asked for there is no decoder; without any wish, the one that is there") {
  const Fresh fresh;
  const auto device = open_device("cuda:0");
  CHECK(NvJpegDecoder(device).engine() == JpegEngine::hardware);
  fake_nvjpeg.hardware = false;
  CHECK(NvJpegDecoder(device).engine() == JpegEngine::cuda);
  CHECK(kind_of([&] { NvJpegDecoder(device, JpegEngine::hardware); }) == ErrorKind::unsupported);
  fake_nvjpeg.refuse_handle = 9;
  CHECK(kind_of([&] { const NvJpegDecoder none(device); }) == ErrorKind::unsupported);
  fake_nvjpeg.refuse_handle = 5;
  CHECK(kind_of([&] { const NvJpegDecoder none(device); }) == ErrorKind::resource);
  fake_nvjpeg.refuse_handle = 0, fake_nvjpeg.refuse_state = 5;
  CHECK(kind_of([&] { const NvJpegDecoder none(device); }) == ErrorKind::resource);
}

TEST_CASE("what nvJPEG refuses is an error of its kind, and the next batch is decoded") {
  const Fresh fresh;
  const auto device = open_device("cuda:0");
  NvJpegDecoder decoder(device);
  const Target target(device);
  const auto stream = device->make_stream();
  const auto decode = [&] { decoder.decode({&target.image, 1}, stream->handle()); };
  for (const auto& [status, kind] :
       {std::pair{3, ErrorKind::corrupt}, std::pair{4, ErrorKind::unsupported}, std::pair{6, ErrorKind::resource}}) {
    fake_nvjpeg.refuse_batch = status;
    CHECK(kind_of(decode) == kind);
  }
  fake_nvjpeg.refuse_batch = 0, fake_nvjpeg.refuse_stream = 5;
  decode();  // needs no other than it has
  const auto done = device->make_event();
  done->record(stream->handle());
  done->wait();
  const int images = fake_nvjpeg.images;
  fake_nvjpeg.refuse_begin = 6;
  const JpegOnDevice twice[] = {target.image, target.image};
  CHECK(kind_of([&] { decoder.decode(twice, stream->handle()); }) == ErrorKind::resource);
  fake_nvjpeg.refuse_begin = 0;
  decode();  // one again: the state was left without a size
  done->record(stream->handle());
  done->wait();
  CHECK(fake_nvjpeg.images == images + 1);
}
