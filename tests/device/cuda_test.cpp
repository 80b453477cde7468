// Tests what can only be seen on a GPU; without one, that its absence is told in one line.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <device/cuda/cuda.hpp>
#include <device/cuda/cufile.hpp>
#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <device/device_use.hpp>
#include <device/file_reads.hpp>
#include <device/host/host_device.hpp>
#include <device/passes.hpp>
#include <penstock/error.hpp>

#include "random_resample.hpp"
#include "support/skip.hpp"

using namespace penstock;

namespace {

bool skipped() {
  const CudaFacts facts = cuda_facts();
  if (facts.problem.empty()) return false;
  penstock::test::skip(facts.problem);
  return true;
}

/// Values of the host on the device.
template <typename T>
struct Uploaded {
  Uploaded(const std::shared_ptr<Device>& device, const std::vector<T>& values)
      : memory(device, values.size() * sizeof(T)) {
    device->copy_in(memory.data(), values.data(), memory.size(), kDefaultStream);
  }
  const T* data() const { return reinterpret_cast<const T*>(memory.data()); }
  DeviceMemory memory;
};

std::vector<std::byte> fetched(Device& device, const DeviceMemory& memory) {
  std::vector<std::byte> bytes(memory.size());
  device.copy_out(bytes.data(), memory.data(), memory.size(), kDefaultStream);
  const auto event = device.make_event();
  event->record(kDefaultStream);
  event->wait();
  return bytes;
}

}  // namespace

TEST_CASE("what there is of CUDA is told, and a device that is not there is an error that says why") {
  const CudaFacts facts = cuda_facts();
  MESSAGE("toolkit " << facts.toolkit << ", driver " << facts.driver << ", " << facts.devices.size() << " devices");
  CHECK((facts.problem.empty() != facts.devices.empty()));
  CHECK_THROWS_AS(open_device("cuda:1000"), Error);
  try {
    open_device("cuda:999");
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);
    CHECK(error.cause().find("no device cuda:999: ") == 0);
    if (!facts.problem.empty()) CHECK(error.cause().find(facts.problem) != std::string::npos);
  }
}

TEST_CASE("the image kernel gives the bytes of the processor, in every type, layout and place") {
  if (skipped()) return;
  const auto device = open_device("cuda");
  std::minstd_rand random(9);
  for (int round = 0; round < 120; ++round) {
    const std::int32_t channels = round % 3 == 0 ? 1 : round % 3 == 1 ? 3 : 4;
    ImagePass pass{.rows = 1 + static_cast<std::int64_t>(random() % 5), .channels = channels};
    pass.in_height = 1 + static_cast<std::int32_t>(random() % 40),
    pass.in_width = 1 + static_cast<std::int32_t>(random() % 70);
    pass.height = 1 + static_cast<std::int32_t>(random()) % pass.in_height;
    pass.width = 1 + static_cast<std::int32_t>(random()) % pass.in_width;
    pass.height = std::max(1, std::abs(pass.height)), pass.width = std::max(1, std::abs(pass.width));
    pass.dtype = std::vector{DType::f32, DType::f16, DType::bf16, DType::u8}[random() % 4];
    pass.channels_last = random() % 2 == 0;
    const float mean[] = {0.485F, 0.456F, 0.406F, 0.5F}, deviation[] = {0.229F, 0.224F, 0.225F, 0.3F};
    normalize(pass, mean, deviation);
    std::vector<std::uint8_t> in(static_cast<std::size_t>(pass.rows * pass.in_height * pass.in_width * channels));
    for (std::uint8_t& level : in) level = static_cast<std::uint8_t>(random() >> 8);
    std::vector<ImageCrop> crops;
    for (std::int64_t n = 0; n < pass.rows; ++n) {
      crops.push_back({static_cast<std::int32_t>(random() % static_cast<unsigned>(pass.in_width - pass.width + 1)),
                       static_cast<std::int32_t>(random() % static_cast<unsigned>(pass.in_height - pass.height + 1)),
                       static_cast<std::int32_t>(random() % 2)});
    }
    const std::size_t bytes =
        static_cast<std::size_t>(pass.rows * pass.height * pass.width * channels) * size_of(pass.dtype);
    std::vector<std::byte> expected(bytes);
    ImagePass reference = pass;
    reference.in = in.data(), reference.out = expected.data(), reference.crops = crops.data();
    run_on_host(reference);

    const Uploaded<std::uint8_t> pixels(device, in);
    const Uploaded<ImageCrop> places(device, crops);
    const DeviceMemory out(device, bytes);
    pass.in = pixels.data(), pass.out = out.data(), pass.crops = places.data();
    device->run(pass, kDefaultStream);
    CHECK(fetched(*device, out) == expected);
  }
}

TEST_CASE("the point kernel gives the bytes of the processor, whatever the moves, their order, type and layout") {
  if (skipped()) return;
  const auto device = open_device("cuda");
  std::minstd_rand random(11);
  for (int round = 0; round < 40; ++round) {
    PointPass pass{};
    pass.clouds = 1 + static_cast<std::int64_t>(random() % 6);
    pass.columns = 3 + static_cast<std::int32_t>(random() % 5);
    pass.normals = pass.columns >= 6 && random() % 2 == 0 ? pass.columns - 3 : 0;
    pass.dtype = std::vector{DType::f32, DType::f16, DType::bf16, DType::f64}[random() % 4];
    pass.key = random();
    const bool ragged = random() % 3 == 0, numbered = !ragged && random() % 2 == 0;
    pass.channels_first = !ragged && random() % 2 == 0;
    const auto length = [&] { return static_cast<std::int64_t>(random() % (round % 4 == 0 ? 9000 : 1200)); };
    std::vector<std::int64_t> begins{0};
    for (std::int64_t n = 0; n < pass.clouds; ++n) begins.push_back(begins.back() + length());
    begins.back() += 1;
    pass.points = ragged ? begins.back() : 1 + length();
    pass.in_points = numbered ? 1 + length() : pass.points;
    const std::int64_t rows = ragged ? pass.points : pass.points * pass.clouds;
    const std::int64_t in_rows = ragged ? pass.points : pass.in_points * pass.clouds;
    std::vector<float> in(static_cast<std::size_t>(in_rows * pass.columns));
    for (float& value : in) value = static_cast<float>(random() % 20001) / 1000 - 10;
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(rows));
    for (std::int32_t& number : numbers)
      number = static_cast<std::int32_t>(random() % static_cast<unsigned>(pass.in_points));
    std::vector<std::uint64_t> samples(static_cast<std::size_t>(pass.clouds));
    for (std::uint64_t& sample : samples) sample = random();
    pass.moves = static_cast<std::int32_t>(random() % 6);
    for (std::int32_t m = 0; m < pass.moves; ++m) {
      pass.move[m] = {static_cast<PointMove::Kind>(random() % 8), static_cast<std::uint32_t>(random()), 0.5, 0.75};
    }
    const auto elements = static_cast<std::size_t>(rows * pass.columns);
    std::vector<float> work(elements);
    std::vector<std::byte> expected(elements * size_of(pass.dtype));
    PointPass reference = pass;
    reference.in = in.data(), reference.work = work.data(), reference.out = expected.data();
    reference.numbers = numbered ? numbers.data() : nullptr, reference.begins = ragged ? begins.data() : nullptr;
    reference.samples = samples.data();
    run_on_host(reference);

    const Uploaded<float> points(device, in);
    const Uploaded<std::int32_t> taken(device, numbers);
    const Uploaded<std::uint64_t> named(device, samples);
    const Uploaded<std::int64_t> places(device, begins);
    const DeviceMemory working(device, elements * sizeof(float)), out(device, expected.size());
    pass.in = points.data(), pass.work = reinterpret_cast<float*>(working.data()), pass.out = out.data();
    pass.numbers = numbered ? taken.data() : nullptr, pass.begins = ragged ? places.data() : nullptr;
    pass.samples = named.data();
    if (!numbered && round % 2 == 0) pass.work = reinterpret_cast<float*>(points.memory.data());  // in place
    device->run(pass, kDefaultStream);
    CHECK(fetched(*device, out) == expected);
  }
}

TEST_CASE("the resample kernel gives the bytes of the processor, whatever weights and sizes") {
  if (skipped()) return;
  const auto device = open_device("cuda");
  std::minstd_rand random(17);
  for (int round = 0; round < 40; ++round) {
    const test::RandomResample sample(random);
    std::vector<std::byte> expected(sample.bytes());
    run_on_host(sample.over(sample.pixels.data(), sample.tables.data(), expected.data()));

    const Uploaded<std::uint8_t> pixels(device, sample.pixels);
    const Uploaded<std::int32_t> tables(device, sample.tables);
    const DeviceMemory out(device, expected.size());
    device->run(sample.over(pixels.data(), tables.data(), out.data()), kDefaultStream);
    CHECK(fetched(*device, out) == expected);
  }
}

TEST_CASE("memory that goes round between streams of a GPU: each reader finds its own round") {
  if (skipped()) return;
  const auto device = open_device("cuda");
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  constexpr int kRounds = 60;
  std::vector<std::byte> pages(kBytes * 2);
  const Pin pin(device, pages);
  CHECK(pin.pinned());
  std::vector<DeviceMemory> memory;
  std::vector<std::unique_ptr<DeviceUse>> uses;
  std::vector<std::unique_ptr<Event>> copied;
  for (int i = 0; i < 2; ++i) {
    memory.emplace_back(device, kBytes);
    uses.push_back(std::make_unique<DeviceUse>(device));
    copied.push_back(device->make_event());
  }
  std::vector<std::byte> results(kRounds * 2);
  const Pin results_pin(device, results);
  const auto writer = device->make_stream(), reader = device->make_stream();
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::size_t i = round % 2;
    copied[i]->wait();  // the host's pages are written again
    std::memset(&pages[i * kBytes], static_cast<int>(round), kBytes);
    uses[i]->begin_write(writer->handle());
    device->copy_in(memory[i].data(), &pages[i * kBytes], kBytes, writer->handle());
    uses[i]->written(writer->handle());
    copied[i]->record(writer->handle());
    uses[i]->wait(reader->handle());
    device->copy_out(&results[round * 2], memory[i].data(), 1, reader->handle());
    device->copy_out(&results[round * 2 + 1], memory[i].data() + kBytes - 1, 1, reader->handle());
    uses[i]->released();
  }
  uses.clear();
  for (std::size_t round = 0; round < kRounds; ++round) {
    CHECK(results[round * 2] == static_cast<std::byte>(round));
    CHECK(results[round * 2 + 1] == static_cast<std::byte>(round));
  }
}

TEST_CASE("cuFile reads a file to the device's memory, at any offset and length, past the page cache and through it") {
  if (skipped()) return;
  const LibraryFacts facts = cufile_facts();
  if (!facts.problem.empty()) {
    penstock::test::skip(facts.problem);
    return;
  }
  const auto device = open_device("cuda");
  std::shared_ptr<FileReads> reads;
  try {
    reads = device->file_reads();
  } catch (const Error& error) {
    penstock::test::skip(error.cause());
    return;
  }
  constexpr std::size_t kBytes = 3 << 20;
  std::vector<std::byte> stored(kBytes);
  std::mt19937 random(1);
  for (std::byte& byte : stored) byte = static_cast<std::byte>(random());
  const DeviceMemory memory(device, kBytes);
  const FileAttachment attachment(reads, memory.data(), memory.size());
  for (const int more : {O_DIRECT, 0}) {
    const std::string path = "penstock-cufile-test." + std::to_string(::getpid());
    const int written = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(::write(written, stored.data(), kBytes) == static_cast<ssize_t>(kBytes));
    CHECK(::fsync(written) == 0);
    ::close(written);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | more);
    ::unlink(path.c_str());
    if (fd < 0) {
      MESSAGE("left out: no O_DIRECT here");
      continue;
    }
    {
      std::unique_ptr<DeviceFile> file;
      try {
        file = reads->open(fd);
      } catch (const Error& error) {
        MESSAGE("left out: " << error.cause());
      }
      if (file != nullptr) {
        MESSAGE("cuFile " << facts.version << ": "
                          << (file->bounced().empty() ? "direct" : "bounce buffer, " + file->bounced()));
        const std::uint64_t cases[][3] = {{0, 1 << 20, 0}, {4096, 8192, 4096}, {100, 5000, 777}, {7, 1 << 20, 12'289}};
        for (const auto& [at, bytes, offset] : cases) {
          CHECK(file->read(memory.data(), at, bytes, offset) == static_cast<std::int64_t>(bytes));
          const std::vector<std::byte> there = fetched(*device, memory);
          CHECK(std::memcmp(there.data() + at, stored.data() + offset, bytes) == 0);
        }
        CHECK(file->read(memory.data(), 0, 4096, kBytes) == 0);
      }
    }
    ::close(fd);
  }
}
