// Tests JPEG decoding on a GPU; without one, that its absence is told in one line.
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <device/cuda/cuda.hpp>
#include <device/cuda/nvjpeg.hpp>
#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <device/host/host_device.hpp>
#include <device/jpeg_decoder.hpp>
#include <penstock/error.hpp>

#include "jpeg_samples.hpp"
#include "support/skip.hpp"

using namespace penstock;

namespace {

constexpr std::int32_t kWidth = 40, kHeight = 24;
constexpr std::size_t kPitch = 128;  // wider than a row

std::span<const std::byte> bytes_of(const std::vector<std::uint8_t>& jpeg) {
  return std::as_bytes(std::span(jpeg));
}

bool skipped() {
  for (const std::string& problem : {cuda_facts().problem, nvjpeg_facts().problem}) {
    if (problem.empty()) continue;
    penstock::test::skip(problem);
    return true;
  }
  return false;
}

/// The largest difference from the pixels that jpeg_samples.hpp describes.
int largest_error(const std::vector<std::byte>& pixels, bool gray) {
  int largest = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int expected[3] = {6 * x, gray ? 6 * x : 10 * y, gray ? 6 * x : 100};
      for (int c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>(y) * kPitch + static_cast<std::size_t>(3 * x + c);
        largest = std::max(largest, std::abs(std::to_integer<int>(pixels[at]) - expected[c]));
      }
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("what there is of nvJPEG is told, and a device that has none is refused with the reason") {
  const LibraryFacts facts = nvjpeg_facts();
  MESSAGE("nvJPEG " << facts.version << " " << facts.library << facts.problem);
  CHECK((facts.problem.empty() != facts.version.empty()));
  try {
    const NvJpegDecoder decoder(std::make_shared<HostDevice>(0));
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);
    const std::string expected = facts.problem.empty() ? "host:0 is not a CUDA device" : facts.problem;
    CHECK(error.cause().find(expected) != std::string::npos);
  }
}

TEST_CASE("batches are decoded on the GPU, and what it does not take is told before") {
  if (skipped()) return;
  const auto device = open_device("cuda");
  for (const JpegEngine wanted : {JpegEngine::automatic, JpegEngine::cuda}) {
    NvJpegDecoder decoder(device, wanted);
    MESSAGE("engine: " << (decoder.engine() == JpegEngine::hardware ? "hardware" : "CUDA"));
    const auto is = [&](const std::vector<std::uint8_t>& jpeg) { return decoder.size(bytes_of(jpeg)); };
    CHECK(is(test::kColor) == JpegSize{kWidth, kHeight});
    CHECK(is(test::kGray) == JpegSize{kWidth, kHeight});
    if (decoder.engine() == JpegEngine::cuda) CHECK(is(test::kProgressive).has_value());
    if (decoder.engine() == JpegEngine::hardware) CHECK_FALSE(is(test::kProgressive).has_value());
    CHECK_FALSE(is({1, 2, 3, 4}).has_value());
    CHECK_FALSE(is({test::kColor.begin(), test::kColor.begin() + 40}).has_value());

    const auto stream = device->make_stream();
    const auto done = device->make_event();
    for (const std::size_t count : {1U, 7U, 7U, 3U}) {
      const std::size_t bytes = kPitch * kHeight;
      const DeviceMemory pixels(device, bytes * count);
      std::vector<JpegOnDevice> images;
      for (std::size_t i = 0; i < count; ++i)
        images.push_back({bytes_of(i % 2 == 0 ? test::kColor : test::kGray), pixels.data() + i * bytes, kPitch});
      decoder.decode(images, stream->handle());
      std::vector<std::byte> fetched(bytes);
      for (std::size_t i = 0; i < count; ++i) {
        device->copy_out(fetched.data(), images[i].pixels, bytes, stream->handle());
        done->record(stream->handle());
        done->wait();
        CHECK(largest_error(fetched, i % 2 != 0) <= 8);
      }
    }
    JpegOnDevice narrow{bytes_of(test::kColor), nullptr, kPitch};
    CHECK_THROWS_AS(decoder.decode({&narrow, 1}, stream->handle()), Error);
    const DeviceMemory pixels(device, kPitch * kHeight);
    narrow = {bytes_of(test::kColor), pixels.data(), 3 * kWidth - 1};
    CHECK_THROWS_AS(decoder.decode({&narrow, 1}, stream->handle()), Error);
  }
}
