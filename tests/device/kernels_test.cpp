// The source of the kernels themselves, run by the processor: the bytes of run_on_host(), no byte beside them, and,
// with AddressSanitizer, nothing read beside what is there.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <device/cuda/kernels.hpp>
#include <device/host/host_device.hpp>
#include <device/passes.hpp>

#include "random_resample.hpp"

using namespace penstock;

namespace penstock::test {

void enqueue_kernel(CUstream_st*, std::function<void()> kernel) {
  kernel();
}

}  // namespace penstock::test

namespace {

constexpr int kPointRounds = 24;  // each takes 512 threads through some hundred barriers

/// Input that begins some bytes behind an aligned place, and ends with the allocation.
class Exact {
 public:
  Exact(std::size_t offset, std::size_t bytes, std::minstd_rand& random)
      : offset_(offset), bytes_(new std::uint8_t[offset + bytes]) {
    for (std::size_t i = 0; i < offset + bytes; ++i) bytes_[i] = static_cast<std::uint8_t>(random() >> 8);
  }
  const std::uint8_t* data() const { return bytes_.get() + offset_; }

 private:
  std::size_t offset_;
  std::unique_ptr<std::uint8_t[]> bytes_;
};

/// Output with guards before it and behind it.
class Guarded {
 public:
  Guarded(std::size_t offset, std::size_t bytes)
      : offset_(kGuard + offset), bytes_(bytes), all_(offset_ + bytes + kGuard, kUntouched) {}
  std::byte* data() { return all_.data() + offset_; }
  std::vector<std::byte> content() const { return {all_.begin() + at(offset_), all_.begin() + at(offset_ + bytes_)}; }
  bool sound() const {
    const auto untouched = [](std::byte byte) { return byte == kUntouched; };
    return std::all_of(all_.begin(), all_.begin() + at(offset_), untouched) &&
           std::all_of(all_.begin() + at(offset_ + bytes_), all_.end(), untouched);
  }

 private:
  static constexpr std::size_t kGuard = 128;
  static constexpr std::byte kUntouched{0xa5};
  static std::ptrdiff_t at(std::size_t place) { return static_cast<std::ptrdiff_t>(place); }
  std::size_t offset_, bytes_;
  std::vector<std::byte> all_;
};

std::vector<ImageCrop> random_crops(const ImagePass& pass, std::minstd_rand& random) {
  std::vector<ImageCrop> crops;
  for (std::int64_t n = 0; n < pass.rows; ++n) {
    crops.push_back({static_cast<std::int32_t>(random() % static_cast<unsigned>(pass.in_width - pass.width + 1)),
                     static_cast<std::int32_t>(random() % static_cast<unsigned>(pass.in_height - pass.height + 1)),
                     static_cast<std::int32_t>((random() >> 8) % 2)});
  }
  return crops;
}

template <typename T>
void random_bits(std::vector<T>& values, std::minstd_rand& random) {
  for (T& value : values) value = static_cast<T>(random());
}

std::size_t bytes_of(const ImagePass& pass) {
  return static_cast<std::size_t>(pass.rows * pass.height * pass.width * pass.channels) * size_of(pass.dtype);
}

void compare(ImagePass pass, std::size_t in_offset, std::size_t out_offset, std::minstd_rand& random) {
  const Exact in(in_offset, static_cast<std::size_t>(pass.rows * pass.in_height * pass.in_width * pass.channels),
                 random);
  pass.in = in.data();
  const std::vector<ImageCrop> crops = random_crops(pass, random);
  const bool whole = pass.width == pass.in_width && pass.height == pass.in_height;
  pass.crops = whole && random() % 2 == 0 ? nullptr : crops.data();
  Guarded expected(0, bytes_of(pass)), out(out_offset * size_of(pass.dtype), bytes_of(pass));
  pass.out = expected.data();
  check(pass);
  run_on_host(pass);
  pass.out = out.data();
  launch(pass, nullptr);
  const bool same = out.content() == expected.content(), sound = out.sound();
  CHECK(same);
  CHECK(sound);
  if (same && sound) return;
  MESSAGE(name(pass.dtype) << " " << pass.channels << " channels " << (pass.channels_last ? "last, " : "first, ")
                           << pass.width << " of " << pass.in_width << " columns, at " << in_offset << " and "
                           << out_offset);
}

}  // namespace

TEST_CASE("the image kernel writes the bytes of the host and no others: types, channels, layouts, widths, places") {
  std::minstd_rand random(9);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::u8}) {
    for (const std::int32_t channels : {1, 3, 4}) {
      for (const bool channels_last : {false, true}) {
        for (const std::int32_t width : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 224, 225}) {
          ImagePass pass{.rows = 2, .channels = channels};
          pass.width = width, pass.height = width < 20 ? 3 : 9;  // 9 lines of 224 are more than a block's threads
          pass.dtype = dtype, pass.channels_last = channels_last;
          const float mean[] = {0.485F, 0.456F, 0.406F, 0.5F}, deviation[] = {0.229F, 0.224F, 0.225F, 0.3F};
          normalize(pass, mean, deviation);
          for (const std::int32_t wider : {0, 1, 4}) {
            pass.in_width = width + wider, pass.in_height = pass.height + wider / 2;
            for (std::size_t in_offset = 0; in_offset <= 4; ++in_offset) {
              for (std::size_t out_offset = 0; out_offset < 4; ++out_offset) {
                compare(pass, in_offset, out_offset, random);
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("the resample kernel writes the bytes of the host and no others, whatever weights and sizes") {
  std::minstd_rand random(17);
  for (int round = 0; round < 60; ++round) {
    const test::RandomResample sample(random);
    const std::vector<std::uint8_t> pixels = sample.pixels;  // copies end with their allocation
    const std::vector<std::int32_t> tables = sample.tables;
    Guarded expected(0, sample.bytes()), out(0, sample.bytes());
    const auto pass_to = [&](Guarded& to) { return sample.over(pixels.data(), tables.data(), to.data()); };
    check(pass_to(out));
    run_on_host(pass_to(expected));
    launch(pass_to(out), nullptr);
    CHECK(out.content() == expected.content());
    CHECK(out.sound());
  }
}

TEST_CASE("every level of every scale is rounded by the kernel as the host rounds it") {
  std::vector<std::uint8_t> levels(256);
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<std::uint8_t>(i);
  std::minstd_rand random(2);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (int power = -40; power < 20; ++power) {  // from nothing through the smallest of float16 to what is infinite
      ImagePass pass{.in = levels.data(), .rows = 1, .channels = 1};
      pass.in_height = pass.height = 16, pass.in_width = pass.width = 16;
      pass.dtype = dtype;
      pass.scale[0] = std::ldexp(1 + static_cast<float>(random() % 4096) / 4096, power);
      pass.bias[0] = random() % 2 == 0 ? 0 : -std::ldexp(pass.scale[0], static_cast<int>(random() % 8));
      Guarded expected(0, bytes_of(pass)), out(0, bytes_of(pass));
      pass.out = expected.data();
      run_on_host(pass);
      pass.out = out.data();
      launch(pass, nullptr);
      CHECK(out.content() == expected.content());
    }
  }
}

TEST_CASE("the point kernel, a thread of the system for each of its own, writes the bytes of the host and no others") {
  std::minstd_rand random(13);
  for (int round = 0; round < kPointRounds; ++round) {
    PointPass pass{};
    pass.clouds = 1 + static_cast<std::int64_t>(random() % 3);
    pass.columns = 3 + static_cast<std::int32_t>(random() % 5);
    pass.normals = pass.columns >= 6 && random() % 2 == 0 ? pass.columns - 3 : 0;
    pass.dtype = std::vector{DType::f32, DType::f16, DType::bf16, DType::f64}[static_cast<std::size_t>(round) % 4];
    pass.key = random();
    const bool ragged = random() % 3 == 0, numbered = !ragged && random() % 2 == 0;
    pass.channels_first = !ragged && random() % 2 == 0;
    const auto length = [&] { return static_cast<std::int64_t>(random() % 1500); };  // below 512 threads, and above
    std::vector<std::int64_t> begins{0};
    for (std::int64_t n = 0; n < pass.clouds; ++n) begins.push_back(begins.back() + (n == 1 ? 0 : 1 + length()));
    pass.points = ragged ? begins.back() : 1 + length();
    pass.in_points = numbered ? 1 + length() : pass.points;
    const auto rows = static_cast<std::size_t>(ragged ? pass.points : pass.points * pass.clouds);
    const auto in_rows = static_cast<std::size_t>(ragged ? pass.points : pass.in_points * pass.clouds);
    std::vector<float> in(in_rows * static_cast<std::size_t>(pass.columns));
    for (float& value : in) value = static_cast<float>(random() % 20001) / 1000 - 10;
    std::vector<std::int32_t> numbers(rows);
    for (std::int32_t& number : numbers)
      number = static_cast<std::int32_t>(random() % static_cast<unsigned>(pass.in_points));
    std::vector<std::uint64_t> samples(static_cast<std::size_t>(pass.clouds));
    random_bits(samples, random);
    for (const std::uint32_t kind : {0U, 1U, 7U, 2U + static_cast<std::uint32_t>(random() % 5)}) {
      pass.move[pass.moves++] = {static_cast<PointMove::Kind>(kind), static_cast<std::uint32_t>(random()), 0.5, 0.75};
    }
    std::shuffle(pass.move, pass.move + pass.moves, random);
    pass.in = in.data(), pass.numbers = numbered ? numbers.data() : nullptr;
    pass.begins = ragged ? begins.data() : nullptr, pass.samples = samples.data();

    const std::size_t elements = rows * static_cast<std::size_t>(pass.columns), bytes = elements * size_of(pass.dtype);
    const auto run_with = [&](Guarded& out, auto run) {
      Guarded work(0, elements * sizeof(float));
      PointPass mine = pass;
      mine.work = reinterpret_cast<float*>(work.data()), mine.out = out.data();
      check(mine);
      run(mine);
      CHECK(work.sound());
    };
    Guarded expected(0, bytes), out(0, bytes);
    run_with(expected, [](const PointPass& mine) { run_on_host(mine); });
    run_with(out, [](const PointPass& mine) { launch(mine, nullptr); });
    CHECK(out.content() == expected.content());
    CHECK(out.sound());
  }
}
