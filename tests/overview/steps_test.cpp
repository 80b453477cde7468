// Finds the steps of hand-made traces, and what each of them spent its time with.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <overview/steps.hpp>
#include <penstock/error.hpp>

#include "overview/made_trace.hpp"
#include "support/kind_of_failure.hpp"

namespace penstock::test::steps_test {
namespace {

using overview::Category;
using overview::find_steps;
using overview::is_collective;
using overview::is_collective_kernel;
using overview::kCategories;
using overview::Range;
using overview::Step;
using overview::StepTimes;

constexpr std::array<Category, kCategories> kAll{Category::kernel,        Category::memcpy,  Category::memset,
                                                 Category::communication, Category::runtime, Category::dataloader,
                                                 Category::cpu,           Category::other};

void add(MadeTrace& made, Category category, std::int64_t begin, std::int64_t end) {
  switch (category) {
    case Category::kernel:
      made.kernel("gemm", begin, end);
      break;
    case Category::memcpy:
      made.copy("Memcpy DtoH (Device -> Pageable)", begin, end);
      break;
    case Category::memset:
      made.fill(begin, end);
      break;
    case Category::communication:
      made.op("nccl:all_reduce", begin, end);
      break;
    case Category::runtime:
      made.runtime("cudaStreamSynchronize", begin, end);
      break;
    case Category::dataloader:
      made.loader(begin, end);
      break;
    case Category::cpu:
      made.op("aten::add", begin, end);
      break;
    case Category::other:
      break;
  }
}

/// The times of a step in microseconds, in the order of the categories.
using Times = std::array<std::int64_t, kCategories>;

Times microseconds(const Step& step) {
  Times out{};
  for (std::size_t i = 0; i < kCategories; ++i) out[i] = std::llround(step.times.of[i] / 1e3);
  return out;
}

Times times_of_only_step(const MadeTrace& made) {
  const StepTimes times = find_steps(made.read());
  REQUIRE(times.steps.size() == 1);
  CHECK(times.steps[0].times.sum() == doctest::Approx(static_cast<double>(times.steps[0].range.length())));
  return microseconds(times.steps[0]);
}

std::vector<Range> ranges_of(const StepTimes& times) {
  std::vector<Range> out;
  for (const Step& step : times.steps) out.push_back({step.range.begin / 1000, step.range.end / 1000});
  return out;
}

std::vector<std::string> names_of(const StepTimes& times) {
  std::vector<std::string> out;
  for (const Step& step : times.steps) out.push_back(step.name);
  return out;
}

/// One launch per kernel, all of them short: `count` in the step that begins at `begin`.
void launch(MadeTrace& made, int count, std::int64_t begin) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t time = begin + 2 * i;
    made.launched(time, time + 1, time + 2, {.correlation = static_cast<int>(time)});
  }
}

}  // namespace

TEST_CASE("each category has the time of its events, and the rest of the step is other") {
  for (const Spelling spelling : {Spelling::old_one, Spelling::new_one}) {
    MadeTrace made(spelling);
    made.step(1, 0, 1000);
    made.op("aten::add", 300, 370).runtime("cudaMalloc", 100, 150).loader(200, 260).kernel("gemm", 400, 480);
    made.copy("Memcpy DtoD (Device -> Device)", 500, 590).fill(600, 605).op("nccl:all_reduce", 700, 740);
    CHECK(times_of_only_step(made) == Times{80, 90, 5, 40, 50, 60, 70, 605});
  }
}

TEST_CASE("of two categories at once, the first one counts") {
  for (std::size_t first = 0; first + 1 < kCategories; ++first) {
    for (std::size_t second = first + 1; second + 1 < kCategories; ++second) {
      for (const bool in_order : {true, false}) {
        CAPTURE(first);
        CAPTURE(second);
        MadeTrace made;
        made.step(1, 0, 1000);
        if (in_order) add(made, kAll[first], 100, 300);
        add(made, kAll[second], 200, 450);
        if (!in_order) add(made, kAll[first], 100, 300);
        Times expected{};
        expected[first] = 200;
        expected[second] = 150;
        expected[kCategories - 1] = 650;
        CHECK(times_of_only_step(made) == expected);
      }
    }
  }
}

TEST_CASE("a moment that all categories cover counts for the first of them") {
  for (std::size_t first = 0; first < kCategories; ++first) {
    MadeTrace made;
    made.step(1, 0, 100);
    for (std::size_t i = first; i < kCategories; ++i) add(made, kAll[i], 20, 50);
    Times expected{};
    expected[first] = 30;
    expected[kCategories - 1] += 70;
    CHECK(times_of_only_step(made) == expected);
  }
}

TEST_CASE("a step that kernels cover entirely has no time of other categories") {
  // torch-tb-profiler 0.4.3 gives a step of 200 us here: it counts the copy and all later categories as well.
  MadeTrace made;
  made.step(1, 0, 100).kernel("gemm", 0, 60).kernel("gemm", 50, 100, {.stream = 8});
  made.copy("Memcpy DtoD (Device -> Device)", 0, 100).op("aten::add", 0, 100);
  CHECK(times_of_only_step(made) == Times{100, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("events outside of the steps count for none of them, and parts of events for the step that they are in") {
  MadeTrace made;
  made.op("aten::add", -50, -10).step(1, 0, 100).op("aten::add", 80, 130).step(2, 120, 200).kernel("gemm", 190, 900);
  const StepTimes times = find_steps(made.read());
  REQUIRE(times.steps.size() == 2);
  CHECK(microseconds(times.steps[0]) == Times{0, 0, 0, 0, 0, 0, 20, 80});
  CHECK(microseconds(times.steps[1]) == Times{10, 0, 0, 0, 0, 0, 10, 60});
  CHECK(total(times.ranges[static_cast<std::size_t>(Category::cpu)]) == 90'000);
  CHECK(total(times.ranges[static_cast<std::size_t>(Category::kernel)]) == 710'000);
}

TEST_CASE("the categories of random traces agree with a count of single microseconds") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto number = [&](int below) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(below)); };
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    constexpr std::int64_t kLength = 400;
    MadeTrace made;
    std::vector<Category> at(kLength, Category::other);
    for (std::int64_t begin = number(50), step = 1; begin < kLength; ++step) {
      const std::int64_t end = std::min(kLength, begin + 1 + number(150));
      made.step(static_cast<int>(step), begin, end);
      begin = end + number(20);
    }
    for (std::int64_t count = number(60); count > 0; --count) {
      const Category category = kAll[static_cast<std::size_t>(number(kCategories - 1))];
      const std::int64_t begin = number(kLength), end = std::min(kLength, begin + number(40));
      add(made, category, begin, end);
      for (std::int64_t time = begin; time < end; ++time) {
        Category& here = at[static_cast<std::size_t>(time)];
        here = std::min(here, category);
      }
    }
    for (const Step& step : find_steps(made.read()).steps) {
      Times expected{};
      for (std::int64_t time = step.range.begin / 1000; time < step.range.end / 1000; ++time) {
        ++expected[static_cast<std::size_t>(at[static_cast<std::size_t>(time)])];
      }
      CHECK(microseconds(step) == expected);
    }
  }
}

TEST_CASE("a step lasts until its device work ends, and the next one begins then") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 100, 200).step(3, 200, 300);
  made.launched(50, 90, 150, {.correlation = 1});
  made.launched(110, 150, 230, {.correlation = 2});
  made.launched(250, 260, 270, {.correlation = 3});
  const StepTimes times = find_steps(made.read());
  CHECK(ranges_of(times) == std::vector<Range>{{0, 150}, {150, 230}, {230, 300}});
  CHECK(times.left_out == 0);
  CHECK(times.marked);
  CHECK(microseconds(times.steps[1]) == Times{80, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("copies and fills are device work, too, on any stream and device") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 100, 200);
  made.runtime("cudaMemcpyAsync", 10, 12, {.link = 1})
      .copy("Memcpy HtoD (Pinned -> Device)", 90, 130, {.correlation = 1});
  made.runtime("cudaMemsetAsync", 110, 112, {.link = 2}).fill(150, 240, {.correlation = 2, .device = 1, .stream = 9});
  CHECK(ranges_of(find_steps(made.read())) == std::vector<Range>{{0, 130}, {130, 240}});
}

TEST_CASE("device work that ends before the step does leaves the step as it is") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 120, 200);
  made.launched(50, 60, 70, {.correlation = 1}).launched(150, 160, 170, {.correlation = 2});
  CHECK(ranges_of(find_steps(made.read())) == std::vector<Range>{{0, 100}, {120, 200}});
}

TEST_CASE("a step whose host part ends before the device work of the step before still follows it") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 100, 150).step(3, 150, 400);
  made.launched(50, 60, 300, {.correlation = 1}).launched(110, 300, 310, {.correlation = 2});
  made.launched(160, 310, 320, {.correlation = 3});
  CHECK(ranges_of(find_steps(made.read())) == std::vector<Range>{{0, 300}, {300, 310}, {310, 400}});
}

TEST_CASE("the first step begins after device work that was launched before it") {
  MadeTrace made;
  made.launched(-80, -20, 30, {.correlation = 1});  // ends before the first work of step 1 begins
  made.launched(-70, 45, 60, {.correlation = 2});   // does not
  made.step(1, 0, 100).launched(10, 40, 45, {.correlation = 3});
  CHECK(ranges_of(find_steps(made.read())) == std::vector<Range>{{30, 100}});
}

TEST_CASE("a call belongs to the step that contains it, in whichever thread it is") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 100, 200);
  made.runtime("cudaLaunchKernel", 20, 21, {.thread = 2, .link = 1}).kernel("backward", 110, 120, {.correlation = 1});
  made.runtime("cudaLaunchKernel", 100, 100, {.link = 2}).kernel("forward", 140, 150, {.correlation = 2});
  made.runtime("cudaLaunchKernel", 99, 101, {.link = 3}).kernel("between", 160, 999, {.correlation = 3});
  made.runtime("cudaLaunchKernel", 199, 201, {.link = 4}).kernel("after", 210, 999, {.correlation = 4});
  CHECK(ranges_of(find_steps(made.read())) == std::vector<Range>{{0, 120}, {120, 200}});
}

TEST_CASE("a call launches all device events that have its correlation") {
  MadeTrace made;
  made.step(1, 0, 100).runtime("cudaGraphLaunch", 10, 20, {.link = 6});
  made.kernel("first", 30, 40, {.correlation = 6}).kernel("second", 40, 170, {.correlation = 6});
  CHECK(ranges_of(find_steps(made.read())) == std::vector<Range>{{0, 170}});
}

TEST_CASE("events without a correlation belong to no call") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 100, 200).runtime("cudaDeviceSynchronize", 10, 20).kernel("gemm", 30, 500);
  const StepTimes times = find_steps(made.read());
  CHECK(ranges_of(times) == std::vector<Range>{{0, 100}, {100, 200}});
  CHECK(times.left_out == 0);
}

TEST_CASE("steps after the last one with device work are left out") {
  MadeTrace made;
  for (int i = 1; i <= 5; ++i) made.step(i, 100 * i, 100 * i + 100);
  launch(made, 5, 100);
  launch(made, 5, 300);
  const StepTimes times = find_steps(made.read());
  CHECK(names_of(times) == std::vector<std::string>{"1", "2", "3"});
  CHECK(times.left_out == 2);
}

TEST_CASE("the last step with less than 0.8 of the device work of the one before is left out") {
  for (const auto& [before, last, kept] : std::vector<std::tuple<int, int, bool>>{
           {10, 10, true}, {10, 8, true}, {10, 7, false}, {5, 4, true}, {4, 3, false}, {1, 30, true}}) {
    CAPTURE(before);
    CAPTURE(last);
    MadeTrace made;
    made.step(1, 100, 200).step(2, 200, 300).step(3, 300, 400);
    launch(made, 40, 100);
    launch(made, before, 200);
    launch(made, last, 300);
    const StepTimes times = find_steps(made.read());
    CHECK(times.steps.size() == (kept ? 3 : 2));
    CHECK(times.left_out == (kept ? 0 : 1));
  }
}

TEST_CASE("at most one step is left out for having little device work, and never the only one") {
  MadeTrace made;
  made.step(1, 100, 200).step(2, 200, 300).step(3, 300, 400).step(4, 400, 500);
  launch(made, 40, 100);
  launch(made, 10, 200);
  launch(made, 2, 300);
  CHECK(names_of(find_steps(made.read())) == std::vector<std::string>{"1", "2"});
  MadeTrace single;
  single.step(1, 100, 200);
  launch(single, 1, 100);
  CHECK(find_steps(single.read()).left_out == 0);
}

TEST_CASE("all steps of a training without device work stay") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 100, 250).step(3, 250, 400).op("aten::add", 10, 20);
  const StepTimes times = find_steps(made.read());
  CHECK(ranges_of(times) == std::vector<Range>{{0, 100}, {100, 250}, {250, 400}});
  CHECK(times.left_out == 0);
  CHECK(times.mean_step() == doctest::Approx(400e3 / 3));
  CHECK(times.standard_deviation() == doctest::Approx(28'867.513459));
  CHECK(times.mean()[Category::cpu] == doctest::Approx(10e3 / 3));
  CHECK(times.range() == Range{0, 400'000});
}

TEST_CASE("a single step has no standard deviation") {
  CHECK(find_steps(MadeTrace().step(1, 0, 100).read()).standard_deviation() == 0);
}

TEST_CASE("a trace without steps is one step, from the first to the last operator") {
  MadeTrace made;
  made.runtime("cudaMalloc", 0, 5)
      .op("aten::add", 10, 20, {.thread = 2})
      .op("aten::mul", 12, 40)
      .op("aten::sub", 30, 35);
  made.annotation("warm up", -100, 900);
  const StepTimes times = find_steps(made.read());
  CHECK_FALSE(times.marked);
  CHECK(names_of(times) == std::vector<std::string>{"0"});
  CHECK(ranges_of(times) == std::vector<Range>{{10, 40}});
  CHECK(microseconds(times.steps[0]) == Times{0, 0, 0, 0, 0, 0, 30, 0});
}

TEST_CASE("the device work of a trace without steps belongs to its step") {
  MadeTrace made;
  made.op("aten::mm", 10, 50).launched(20, 60, 90, {.correlation = 1});
  CHECK(ranges_of(find_steps(made.read())) == std::vector<Range>{{10, 90}});
}

TEST_CASE("a trace with neither steps nor operators is unsupported") {
  CHECK(kind_of_failure([] { find_steps(MadeTrace().kernel("gemm", 0, 10).read()); }) == ErrorKind::unsupported);
  CHECK(kind_of_failure([] { find_steps(MadeTrace().read()); }) == ErrorKind::unsupported);
}

TEST_CASE("steps are in the order of time, and have the number of their ProfilerStep") {
  MadeTrace made;
  made.step(12, 200, 300).step(10, 0, 100).step(11, 100, 200);
  CHECK(names_of(find_steps(made.read())) == std::vector<std::string>{"10", "11", "12"});
}

TEST_CASE("a ProfilerStep of the device's timeline is not a step") {
  MadeTrace made;
  made.step(1, 0, 100);
  made.event(R"({"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "pid": 0, "ts": 20, "dur": 900})");
  CHECK(ranges_of(find_steps(made.read())) == std::vector<Range>{{0, 100}});
}

TEST_CASE("events of several threads at once count once") {
  MadeTrace made;
  made.step(1, 0, 1000).op("aten::add", 0, 100).op("aten::mul", 50, 150, {.thread = 2});
  made.runtime("cudaMalloc", 90, 110, {.thread = 3});
  CHECK(times_of_only_step(made) == Times{0, 0, 0, 0, 20, 0, 130, 850});
}

TEST_CASE("annotations and Python functions count for no category") {
  MadeTrace made;
  made.step(1, 0, 100).annotation("Optimizer.step#SGD.step", 10, 40);
  made.event(
      R"({"ph": "X", "cat": "python_function", "name": "train.py(3): f", "pid": 100, "tid": 1, "ts": 5, "dur": 90})");
  CHECK(times_of_only_step(made) == Times{0, 0, 0, 0, 0, 0, 0, 100});
}

TEST_CASE("kernels of collectives are communication, not kernels") {
  for (const std::string name :
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "ncclKernel_SendRecv_RING_SIMPLE",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "rcclKernel_AllReduce",
        "mscclKernel_Sum_float_Simple"}) {
    CAPTURE(name);
    CHECK(is_collective_kernel(name));
    MadeTrace made;
    made.step(1, 0, 100).kernel("gemm", 0, 30).kernel(name, 20, 60, {.stream = 9});
    CHECK(times_of_only_step(made) == Times{30, 0, 0, 30, 0, 0, 0, 40});
  }
  for (const std::string name : {"gemm", "void at::native::vectorized_elementwise_kernel", "Memcpy PtoP"}) {
    CHECK_FALSE(is_collective_kernel(name));
  }
}

TEST_CASE("a kernel with the external id of a collective is communication") {
  MadeTrace made(Spelling::old_one);
  made.step(1, 0, 100).op("nccl:broadcast", 5, 10, {.link = 33}).op("aten::mm", 12, 14, {.link = 34});
  made.kernel("broadcastKernel", 20, 50, {.external_id = 33}).kernel("gemm", 60, 70, {.external_id = 34});
  made.kernel("unrelated", 80, 81);
  CHECK(times_of_only_step(made) == Times{11, 0, 0, 35, 0, 0, 2, 52});
}

TEST_CASE("a kernel whose external id is its correlation does not belong to a collective with that number") {
  MadeTrace made;
  made.step(1, 0, 100).op("nccl:broadcast", 5, 10, {.link = 33});
  made.kernel("gemm", 20, 50, {.correlation = 33, .external_id = 33});
  CHECK(times_of_only_step(made) == Times{30, 0, 0, 5, 0, 0, 0, 65});
}

TEST_CASE("collectives are operators or annotations with the name of their library") {
  for (const std::string name : {"nccl:all_reduce", "nccl:_all_gather_base", "nccl:coalesced", "gloo:broadcast"}) {
    CHECK(is_collective(name));
  }
  for (const std::string name : {"aten::add", "c10d::allreduce_", "record_param_comms", "nccl", "my nccl:all_reduce"}) {
    CHECK_FALSE(is_collective(name));
  }
  MadeTrace made;
  made.step(1, 0, 100).annotation("nccl:all_reduce", 10, 30).op("gloo:all_reduce", 50, 55);
  CHECK(times_of_only_step(made) == Times{0, 0, 0, 25, 0, 0, 0, 75});
}

TEST_CASE("categories have the names of torch-tb-profiler") {
  const std::vector<std::string> names{"Kernel",  "Memcpy",     "Memset",   "Communication",
                                       "Runtime", "DataLoader", "CPU Exec", "Other"};
  for (std::size_t i = 0; i < kCategories; ++i) CHECK(name(kAll[i]) == names[i]);
}

}  // namespace penstock::test::steps_test
