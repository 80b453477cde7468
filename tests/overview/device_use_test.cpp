// Measures how busy the devices of hand-made traces are.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <overview/device_use.hpp>
#include <overview/steps.hpp>

#include "overview/made_trace.hpp"

namespace penstock::test::device_use_test {
namespace {

using doctest::Approx;
using overview::DeviceUse;
using overview::uses_tensor_cores;

std::vector<DeviceUse> uses_of(const MadeTrace& made) {
  const overview::Trace trace = made.read();
  return use_of_devices(trace, find_steps(trace));
}

DeviceUse use_of(const MadeTrace& made) {
  const std::vector<DeviceUse> uses = uses_of(made);
  REQUIRE(uses.size() == 1);
  return uses[0];
}

MadeTrace one_step() {
  return MadeTrace().step(1, 0, 100);
}

}  // namespace

TEST_CASE("a device is busy while at least one kernel runs") {
  MadeTrace made = one_step();
  made.kernel("a", 10, 30).kernel("b", 20, 50, {.stream = 8}).kernel("c", 70, 75);
  made.copy("Memcpy HtoD (Pageable -> Device)", 0, 100).fill(0, 100);
  CHECK(use_of(made).busy == Approx(0.45));
}

TEST_CASE("shares are of the time from the first step to the end of the last, gaps between steps included") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 150, 200).kernel("a", -20, 30).kernel("b", 110, 140).kernel("c", 190, 400);
  CHECK(use_of(made).busy == Approx((30 + 30 + 10) / 200.0));
}

TEST_CASE("the blocks of kernels that run at once add up, to at most 1") {
  MadeTrace made = one_step();
  made.kernel("a", 0, 50, {.blocks_per_sm = 0.5}).kernel("b", 25, 75, {.stream = 8, .blocks_per_sm = 0.7});
  CHECK(*use_of(made).sm_efficiency == Approx((25 * 0.5 + 25 * 1 + 25 * 0.7) / 100));
  CHECK(*use_of(one_step().kernel("a", 0, 40, {.blocks_per_sm = 12.5})).sm_efficiency == Approx(0.4));
  CHECK(*use_of(one_step().kernel("a", -50, 20, {.blocks_per_sm = 0.5})).sm_efficiency == Approx(0.1));
}

TEST_CASE("a kernel that begins when another one ends does not run beside it") {
  MadeTrace made = one_step();
  made.kernel("a", 0, 50, {.blocks_per_sm = 0.6}).kernel("b", 50, 100, {.blocks_per_sm = 0.8});
  CHECK(*use_of(made).sm_efficiency == Approx(0.7));
}

TEST_CASE("occupancy is the mean of the kernels that record it, weighted by their time in the steps") {
  MadeTrace made = one_step();
  made.kernel("a", 0, 10, {.occupancy = 50}).kernel("b", 10, 40, {.occupancy = 20}).kernel("c", 40, 90);
  made.kernel("before", -20, 0, {.occupancy = 90}).kernel("after", 150, 190, {.occupancy = 90});
  CHECK(*use_of(made).occupancy == Approx(0.275));
  made.kernel("d", 80, 140, {.stream = 8, .occupancy = 0});
  CHECK(*use_of(made).occupancy == Approx((10 * 0.5 + 30 * 0.2) / 60));
}

TEST_CASE("quantities that no kernel records are missing") {
  const DeviceUse use = use_of(one_step().kernel("a", 0, 10));
  CHECK_FALSE(use.sm_efficiency);
  CHECK_FALSE(use.occupancy);
  CHECK(use.tensor_cores == 0.0);
}

TEST_CASE("a trace without kernels has no devices") {
  CHECK(uses_of(one_step().op("aten::add", 10, 20)).empty());
  CHECK(uses_of(one_step().copy("Memcpy HtoD (Pageable -> Device)", 0, 10)).empty());
}

TEST_CASE("each device has its own shares, in the order of their numbers") {
  MadeTrace made = one_step();
  made.kernel("a", 0, 60, {.device = 3, .occupancy = 10}).kernel("b", 0, 20, {.device = 1, .blocks_per_sm = 1});
  const std::vector<DeviceUse> uses = uses_of(made);
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].device == 1);
  CHECK(uses[0].busy == Approx(0.2));
  CHECK(uses[0].sm_efficiency);
  CHECK_FALSE(uses[0].occupancy);
  CHECK(uses[1].device == 3);
  CHECK(uses[1].busy == Approx(0.6));
  CHECK_FALSE(uses[1].sm_efficiency);
  CHECK(uses[1].occupancy);
}

TEST_CASE("the share of tensor cores is that of kernels with such names, in the whole trace") {
  MadeTrace made = one_step();
  made.kernel("volta_fp16_s884cudnn_fp16_256x64", 0, 30).kernel("vectorized_elementwise_kernel", 30, 50);
  made.kernel("ampere_fp16_s16816gemm_fp16_128x64", 500, 550);
  CHECK(*use_of(made).tensor_cores == Approx(0.8));
}

TEST_CASE("kernels show by parts of their names that they use tensor cores") {
  for (const std::string name :
       {"turing_fp16_s1688gemm", "volta_h884gemm", "cutlass_80_tensorop_s16816gemm", "turing_h1688gemm",
        "sm80_xmma_gemm_f16f16", "sm80_xmma_implicit_gemm_x", "turing_int8_i8816cudnn", "hmma_kernel",
        "dgrad_1x1_stride_2x2", "first_layer_wgrad_kernel", "conv1x1_x", "conv2d_c1_k1_nhwc", "direct_group_x", "c1688",
        "xmma_sparse_gemm", "xmma_sparse_conv", "xmma_warp_specialized_implicit_gemm"}) {
    CAPTURE(name);
    CHECK(uses_tensor_cores(name));
  }
  for (const std::string name :
       {"volta_sgemm_128x64_nn", "void at::native::reduce_kernel", "HMMA", "", "Cijk_Ailk_Bljk_BBS"}) {
    CAPTURE(name);
    CHECK_FALSE(uses_tensor_cores(name));
  }
}

TEST_CASE("tensor cores are missing on devices that are not NVIDIA's") {
  const auto on = [](const std::string& device) {
    return use_of(MadeTrace()
                      .head(R"("deviceProperties": [{"id": 0, "name": ")" + device + "\"}]")
                      .step(1, 0, 100)
                      .kernel("Cijk_Ailk_Bljk_BBS_BH", 0, 50))
        .tensor_cores;
  };
  for (const std::string device :
       {"AMD Instinct MI250X/MI250", "MI100", "AMD Radeon Graphics", "Intel(R) Data Center GPU Max"}) {
    CAPTURE(device);
    CHECK_FALSE(on(device));
  }
  for (const std::string device :
       {"NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-32GB", "GeForce GTX 1080", "Quadro RTX 6000"}) {
    CAPTURE(device);
    CHECK(on(device) == 0.0);
  }
}

TEST_CASE("busy time and SM efficiency of random kernels agree with a count of single microseconds") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto number = [&](int below) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(below)); };
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    constexpr std::int64_t kBegin = 100, kEnd = 300, kLength = 400;
    MadeTrace made;
    made.step(1, kBegin, kEnd);
    std::vector<double> blocks(kLength, 0);
    std::vector<bool> busy(kLength, false);
    for (std::int64_t count = 1 + number(40); count > 0; --count) {
      const std::int64_t begin = number(kLength), end = std::min(kLength, begin + number(60));
      const double some = static_cast<double>(number(16)) / 16;
      made.kernel("k", begin, end, {.stream = static_cast<int>(number(9)), .blocks_per_sm = some});
      for (std::int64_t time = begin; time < end; ++time) {
        blocks[static_cast<std::size_t>(time)] += some;
        busy[static_cast<std::size_t>(time)] = true;
      }
    }
    double efficiency = 0, time_busy = 0;
    for (std::size_t time = kBegin; time < kEnd; ++time) {
      efficiency += std::min(1.0, blocks[time]);
      time_busy += busy[time] ? 1 : 0;
    }
    const DeviceUse use = use_of(made);
    CHECK(use.busy == Approx(time_busy / (kEnd - kBegin)));
    CHECK(use.sm_efficiency.value_or(0) == Approx(efficiency / (kEnd - kBegin)));
  }
}

}  // namespace penstock::test::device_use_test
