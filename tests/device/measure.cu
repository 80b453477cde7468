// Figures of a GPU, and of nvJPEG for the files named: copies beside a plain loop of them, the passes beside the
// device's own copies, and whether copies hide behind kernels. Prints one line each; medians of rounds that take turns.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <sys/mman.h>

#include <device/cuda/cuda.hpp>
#include <device/cuda/nvjpeg.hpp>
#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <device/device_use.hpp>
#include <device/jpeg_decoder.hpp>
#include <device/passes.hpp>
#include <penstock/error.hpp>

using namespace penstock;

namespace {

constexpr int kRounds = 9;
constexpr double kGiga = 1e9;

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "measure: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Seconds that the work takes in the stream.
double seconds(cudaStream_t stream, const std::function<void()>& work) {
  cudaEvent_t from = nullptr, to = nullptr;
  require(cudaEventCreate(&from), "event");
  require(cudaEventCreate(&to), "event");
  require(cudaEventRecord(from, stream), "record");
  work();
  require(cudaEventRecord(to, stream), "record");
  require(cudaEventSynchronize(to), "work");
  float milliseconds = 0;
  require(cudaEventElapsedTime(&milliseconds, from, to), "time");
  cudaEventDestroy(from);
  cudaEventDestroy(to);
  return static_cast<double>(milliseconds) / 1e3;
}

__global__ void spin(long long nanoseconds) {
  long long begun = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begun < nanoseconds);
}

/// Pages as the loader's slabs have them.
struct Pages {
  explicit Pages(std::size_t size) : bytes(size) {
    void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) std::exit(1);
    madvise(mapped, size, MADV_HUGEPAGE);
    data = static_cast<std::byte*>(mapped);
    std::fill(data, data + size, std::byte{7});
  }
  ~Pages() { munmap(data, bytes); }
  std::byte* data = nullptr;
  std::size_t bytes;
};

/// Batches round through device buffers as the loader's copy stage brings them, beside a plain loop of copies.
void copies(const std::shared_ptr<Device>& device) {
  constexpr std::size_t kBatch = 256U * 224 * 224 * 3;
  constexpr int kBatches = 40, kBuffers = 3;
  Pages pages(kBatch * kBuffers);
  const Pin pin(device, {pages.data, pages.bytes});
  std::printf("pages of the host      %s\n", pin.pinned() ? "page-locked" : pin.refusal().c_str());
  void* plain = nullptr;
  require(cudaHostAlloc(&plain, kBatch * kBuffers, cudaHostAllocDefault), "cudaHostAlloc");
  std::fill_n(static_cast<char*>(plain), kBatch * kBuffers, 7);
  const DeviceMemory memory(device, kBatch * kBuffers);
  std::vector<std::unique_ptr<DeviceUse>> uses;
  for (int i = 0; i < kBuffers; ++i) uses.push_back(std::make_unique<DeviceUse>(device));
  const auto stream = device->make_stream(), reader = device->make_stream();
  const auto native = reinterpret_cast<cudaStream_t>(stream->handle());
  std::vector<double> ours, theirs;
  for (int round = 0; round < kRounds; ++round) {
    theirs.push_back(seconds(native, [&] {
      for (int i = 0; i < kBatches; ++i) {
        const std::size_t at = static_cast<std::size_t>(i % kBuffers) * kBatch;
        cudaMemcpyAsync(memory.data() + at, static_cast<char*>(plain) + at, kBatch, cudaMemcpyHostToDevice, native);
      }
    }));
    ours.push_back(seconds(native, [&] {
      for (int i = 0; i < kBatches; ++i) {
        const std::size_t at = static_cast<std::size_t>(i % kBuffers) * kBatch;
        DeviceUse& use = *uses[static_cast<std::size_t>(i % kBuffers)];
        use.begin_write(stream->handle());
        device->copy_in(memory.data() + at, pages.data + at, kBatch, stream->handle());
        use.written(stream->handle());
        use.wait(reader->handle());
        use.released();
      }
    }));
  }
  cudaFreeHost(plain);
  const double bytes = static_cast<double>(kBatch) * kBatches;
  std::printf("host to device         %.2f GB/s; plain loop %.2f GB/s; ratio %.3f (wanted: 0.95)\n",
              bytes / median(ours) / kGiga, bytes / median(theirs) / kGiga, median(theirs) / median(ours));
}

void image_pass(const std::shared_ptr<Device>& device, DType dtype, bool channels_last) {
  ImagePass pass{};
  pass.rows = 256;
  pass.in_height = pass.in_width = pass.height = pass.width = 224;
  pass.dtype = dtype;
  pass.channels_last = channels_last;
  const float mean[] = {0.485F, 0.456F, 0.406F}, deviation[] = {0.229F, 0.224F, 0.225F};
  normalize(pass, mean, deviation);
  const std::size_t values = static_cast<std::size_t>(pass.rows) * 224 * 224 * 3;
  const std::size_t moved = values * (1 + size_of(dtype));
  const DeviceMemory in(device, values), out(device, values * size_of(dtype)), from(device, moved / 2),
      to(device, moved / 2);
  pass.in = reinterpret_cast<const std::uint8_t*>(in.data());
  pass.out = out.data();
  const auto stream = device->make_stream();
  const auto native = reinterpret_cast<cudaStream_t>(stream->handle());
  constexpr int kTimes = 50;
  std::vector<double> ours, theirs;
  for (int round = 0; round < kRounds; ++round) {
    theirs.push_back(seconds(native, [&] {
      for (int i = 0; i < kTimes; ++i)
        cudaMemcpyAsync(to.data(), from.data(), moved / 2, cudaMemcpyDeviceToDevice, native);
    }));
    ours.push_back(seconds(native, [&] {
      for (int i = 0; i < kTimes; ++i) device->run(pass, stream->handle());
    }));
  }
  const double bytes = static_cast<double>(moved) * kTimes;
  std::printf("uint8 -> %-8s %s  %.0f GB/s; copies on the device %.0f GB/s; ratio %.3f (wanted: 0.85)\n",
              std::string(name(dtype)).c_str(), channels_last ? "NHWC" : "NCHW", bytes / median(ours) / kGiga,
              bytes / median(theirs) / kGiga, median(theirs) / median(ours));
}

/// What a training on clouds asks for, in place, beside copies on the device of the bytes it would move at best: once
/// in, once out.
void point_pass(const std::shared_ptr<Device>& device, std::int64_t clouds, std::int64_t points) {
  PointPass pass{};
  pass.clouds = clouds, pass.points = pass.in_points = points;
  using Kind = PointMove::Kind;
  for (const PointMove& move : {PointMove{Kind::center}, PointMove{Kind::unit_sphere},
                                PointMove{Kind::rotate_about_z, 1}, PointMove{Kind::jitter, 2, 0.01, 0.05}}) {
    pass.move[pass.moves++] = move;
  }
  const std::size_t bytes = static_cast<std::size_t>(clouds * points * 3) * sizeof(float);
  std::vector<float> values(bytes / sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1009) / 100;
  const DeviceMemory memory(device, bytes), to(device, bytes), samples(device, static_cast<std::size_t>(clouds) * 8);
  require(cudaMemcpy(memory.data(), values.data(), bytes, cudaMemcpyHostToDevice), "copy");
  require(cudaMemset(samples.data(), 1, samples.size()), "set");
  pass.work = reinterpret_cast<float*>(memory.data());
  pass.in = pass.work;
  pass.out = pass.work;
  pass.samples = reinterpret_cast<const std::uint64_t*>(samples.data());
  const auto stream = device->make_stream();
  const auto native = reinterpret_cast<cudaStream_t>(stream->handle());
  constexpr int kTimes = 20;
  std::vector<double> ours, theirs;
  for (int round = 0; round < kRounds; ++round) {
    theirs.push_back(seconds(native, [&] {
      for (int i = 0; i < kTimes; ++i)
        cudaMemcpyAsync(to.data(), memory.data(), bytes, cudaMemcpyDeviceToDevice, native);
    }));
    ours.push_back(seconds(native, [&] {
      for (int i = 0; i < kTimes; ++i) device->run(pass, stream->handle());
    }));
  }
  std::printf(
      "points                 %lld clouds of %lld: %.3f ms for center, unit sphere, rotate, jitter; %.0f million "
      "points/s; a copy on the device %.3f ms\n",
      static_cast<long long>(clouds), static_cast<long long>(points), median(ours) / kTimes * 1e3,
      static_cast<double>(clouds * points) * kTimes / median(ours) / 1e6, median(theirs) / kTimes * 1e3);
}

/// Crops of photographs of 500 x 375 to 224 x 224, bilinear, as a training draws them: half of each side.
void resample_pass(const std::shared_ptr<Device>& device) {
  constexpr int kWidth = 500, kHeight = 375, kSide = 224, kTaps = 3, kTimes = 50;
  constexpr std::size_t kImages = ResamplePass::kMostImages;
  std::vector<std::int32_t> tables;
  for (const int length : {kWidth, kHeight}) {
    for (int i = 0; i < kSide; ++i) tables.push_back(length / 4 + i * (length / 2 - kTaps) / kSide);
    for (int i = 0; i < kSide * kTaps; ++i) tables.push_back((1 << 22) / kTaps);
  }
  const DeviceMemory pixels(device, kImages * kWidth * kHeight * 3), out(device, kImages * kSide * kSide * 3),
      numbers(device, tables.size() * sizeof(std::int32_t));
  require(cudaMemcpy(numbers.data(), tables.data(), numbers.size(), cudaMemcpyHostToDevice), "copy");
  ResamplePass pass{};
  pass.images = static_cast<std::int32_t>(kImages);
  pass.width = pass.height = kSide;
  for (std::size_t n = 0; n < kImages; ++n) {
    pass.image[n].pixels = reinterpret_cast<const std::uint8_t*>(pixels.data()) + n * kWidth * kHeight * 3;
    pass.image[n].pitch = kWidth * 3;
    pass.image[n].out = reinterpret_cast<std::uint8_t*>(out.data()) + n * kSide * kSide * 3;
    pass.image[n].tables = reinterpret_cast<const std::int32_t*>(numbers.data());
    pass.image[n].taps_x = pass.image[n].taps_y = kTaps;
  }
  const auto stream = device->make_stream();
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    times.push_back(seconds(reinterpret_cast<cudaStream_t>(stream->handle()), [&] {
      for (int i = 0; i < kTimes; ++i) device->run(pass, stream->handle());
    }));
  }
  std::printf("crops                  %.0f images/s of 250 x 187 pixels to 224 x 224\n",
              static_cast<double>(kImages) * kTimes / median(times));
}

/// A step of T ms, and beside it the copy of the next batch, which takes nearly as long.
void overlap(const std::shared_ptr<Device>& device) {
  constexpr std::size_t kBatch = std::size_t{128} << 20;
  constexpr int kSteps = 30, kBuffers = 3;
  Pages pages(kBatch * kBuffers);
  const Pin pin(device, {pages.data, pages.bytes});
  const DeviceMemory memory(device, kBatch * kBuffers);
  std::vector<std::unique_ptr<DeviceUse>> uses;
  for (int i = 0; i < kBuffers; ++i) uses.push_back(std::make_unique<DeviceUse>(device));
  const auto stream = device->make_stream(), consumer = device->make_stream();
  const auto native = reinterpret_cast<cudaStream_t>(consumer->handle());
  const auto copy = [&](int i) {
    const std::size_t at = static_cast<std::size_t>(i % kBuffers) * kBatch;
    DeviceUse& use = *uses[static_cast<std::size_t>(i % kBuffers)];
    use.begin_write(stream->handle());
    device->copy_in(memory.data() + at, pages.data + at, kBatch, stream->handle());
    use.written(stream->handle());
  };
  const double alone = seconds(reinterpret_cast<cudaStream_t>(stream->handle()),
                               [&] {
                                 for (int i = 0; i < kSteps; ++i) copy(i);
                               }) /
                       kSteps;
  for (auto& use : uses) use->released(false);
  const auto step = static_cast<long long>(alone * 1.05e9);
  std::vector<double> steps;
  for (int round = 0; round < kRounds; ++round) {
    copy(0);
    uses[0]->synchronize();
    steps.push_back(seconds(native,
                            [&] {
                              for (int i = 0; i < kSteps; ++i) {
                                if (i + 1 < kSteps) copy(i + 1);
                                DeviceUse& use = *uses[static_cast<std::size_t>(i % kBuffers)];
                                use.wait(consumer->handle());
                                spin<<<1, 1, 0, native>>>(step);
                                use.released();
                              }
                            }) /
                    kSteps);
  }
  std::printf("overlap                copy %.3f ms, kernel %.3f ms, step %.3f ms; ratio %.3f (wanted: at most 1.03)\n",
              alone * 1e3, static_cast<double>(step) / 1e6, median(steps) * 1e3,
              median(steps) * 1e9 / static_cast<double>(step));
}

std::vector<std::byte> bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

/// A batch of files, decoded again and again into the same memory; the time is the host's clock, parsing included.
void jpegs(const std::shared_ptr<Device>& device, int count, char** paths) {
  const LibraryFacts facts = nvjpeg_facts();
  if (!facts.problem.empty() || count == 0) {
    std::printf("nvJPEG                 left out: %s\n", count == 0 ? "no files named" : facts.problem.c_str());
    return;
  }
  for (const JpegEngine wanted : {JpegEngine::hardware, JpegEngine::cuda}) {
    std::vector<std::vector<std::byte>> files;
    std::vector<DeviceMemory> memory;
    std::vector<JpegOnDevice> images;
    try {
      NvJpegDecoder decoder(device, wanted);
      for (int i = 0; i < count; ++i) {
        files.push_back(bytes_of(paths[i]));
        const auto size = decoder.size(files.back());
        if (!size) continue;
        const std::size_t pitch = 3 * static_cast<std::size_t>(size->width);
        memory.emplace_back(device, pitch * static_cast<std::size_t>(size->height));
        images.push_back({files.back(), memory.back().data(), pitch});
      }
      if (images.empty()) continue;
      const auto stream = device->make_stream();
      const auto done = device->make_event();
      std::vector<double> times;
      for (int round = 0; round <= kRounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        decoder.decode(images, stream->handle());
        done->record(stream->handle());
        done->wait();
        if (round != 0)
          times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
      std::printf("nvJPEG %-8s        %s: %zu of %d files, %.0f images/s\n",
                  wanted == JpegEngine::hardware ? "hardware" : "CUDA", facts.version.c_str(), images.size(), count,
                  static_cast<double>(images.size()) / median(times));
    } catch (const Error& error) {
      std::printf("nvJPEG %-8s        %s\n", wanted == JpegEngine::hardware ? "hardware" : "CUDA", error.what());
    }
  }
}

}  // namespace

int main(int count, char** words) {
  const CudaFacts facts = cuda_facts();
  if (!facts.problem.empty()) {
    std::printf("no figures: %s\n", facts.problem.c_str());
    return 0;
  }
  const auto device = open_device("cuda");
  require(cudaSetDevice(device->id().number), "device");
  std::printf("device                 %s; driver for CUDA %s, toolkit %s\n", device->description().c_str(),
              facts.driver.c_str(), facts.toolkit.c_str());
  copies(device);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const bool channels_last : {false, true}) image_pass(device, dtype, channels_last);
  }
  point_pass(device, 64, 4096);
  point_pass(device, 8, 200'000);
  resample_pass(device);
  overlap(device);
  jpegs(device, count - 1, words + 1);
  return 0;
}
