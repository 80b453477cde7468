// The tables of operators and kernels of hand-made traces.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <overview/operators.hpp>

#include "overview/made_trace.hpp"

namespace penstock::test::operators_test {
namespace {

using overview::KernelTimes;
using overview::OperatorTimes;

std::vector<OperatorTimes> operators_of(const MadeTrace& made) {
  return times_of_operators(made.read());
}

OperatorTimes find(const std::vector<OperatorTimes>& operators, const std::string& name) {
  for (const OperatorTimes& times : operators) {
    if (times.name == name) return times;
  }
  FAIL("no operator " << name);
  return {};
}

/// Times are in microseconds.
void check_times(const OperatorTimes& times, std::size_t calls, double host, double self, double device) {
  CAPTURE(times.name);
  CHECK(times.calls == calls);
  CHECK(times.host == host * 1e3);
  CHECK(times.host_self == self * 1e3);
  CHECK(times.device_self == device * 1e3);
}

}  // namespace

TEST_CASE("an operator's own time is without the operators that it calls") {
  MadeTrace made;
  made.op("linear", 0, 100).op("addmm", 10, 60).op("copy_", 20, 25).op("t", 70, 80).op("relu", 100, 110);
  const std::vector<OperatorTimes> operators = operators_of(made);
  CHECK(operators.size() == 5);
  check_times(find(operators, "linear"), 1, 100, 40, 0);
  check_times(find(operators, "addmm"), 1, 50, 45, 0);
  check_times(find(operators, "copy_"), 1, 5, 5, 0);
  check_times(find(operators, "t"), 1, 10, 10, 0);
  check_times(find(operators, "relu"), 1, 10, 10, 0);
}

TEST_CASE("calls of one name add up, also inside each other and in several threads") {
  MadeTrace made;
  made.op("sum", 0, 100).op("sum", 10, 40).op("mul", 41, 50);
  made.op("sum", 50, 60, {.thread = 2}).op("mul", 52, 55, {.thread = 2});
  const std::vector<OperatorTimes> operators = operators_of(made);
  check_times(find(operators, "sum"), 3, 140, 98, 0);
  check_times(find(operators, "mul"), 2, 12, 12, 0);
}

TEST_CASE("an operator that is recorded twice, one around the other, is one call") {
  MadeTrace made;
  made.op("conv", 0, 100, {.link = 1}).op("conv", 5, 90, {.link = 2}).op("pad", 10, 20).op("add", 30, 40);
  made.kernel("k", 0, 7, {.external_id = 2});
  const std::vector<OperatorTimes> operators = operators_of(made);
  check_times(find(operators, "conv"), 1, 100, 80, 7);
  check_times(find(operators, "pad"), 1, 10, 10, 0);
}

TEST_CASE("an operator's own time is without the calls of the runtime inside it") {
  MadeTrace made;
  made.op("linear", 0, 100).op("addmm", 10, 60).runtime("cudaLaunchKernel", 20, 35).runtime("cudaFree", 70, 75);
  made.runtime("cudaLaunchKernel", 40, 50, {.thread = 2}).runtime("cudaMalloc", 110, 120);
  const std::vector<OperatorTimes> operators = operators_of(made);
  CHECK(operators.size() == 2);
  check_times(find(operators, "linear"), 1, 100, 45, 0);
  check_times(find(operators, "addmm"), 1, 50, 35, 0);
}

TEST_CASE("a call of the driver inside one of the runtime does not count twice") {
  MadeTrace made;
  made.op("addmm", 0, 100).runtime("cudaLaunchKernel", 10, 50).runtime("cuLaunchKernel", 20, 30);
  check_times(find(operators_of(made), "addmm"), 1, 100, 60, 0);
}

TEST_CASE("the order of events in the file does not matter") {
  MadeTrace made;
  made.op("inner", 20, 25).op("last", 200, 205).op("outer", 0, 100).op("middle", 10, 60);
  const std::vector<OperatorTimes> operators = operators_of(made);
  check_times(find(operators, "outer"), 1, 100, 50, 0);
  check_times(find(operators, "middle"), 1, 50, 45, 0);
}

TEST_CASE("operators that begin at the same time nest by their length") {
  MadeTrace made;
  made.op("inner", 0, 10).op("outer", 0, 30).op("second", 10, 30);
  const std::vector<OperatorTimes> operators = operators_of(made);
  check_times(find(operators, "outer"), 1, 30, 0, 0);
  check_times(find(operators, "inner"), 1, 10, 10, 0);
  check_times(find(operators, "second"), 1, 20, 20, 0);
}

TEST_CASE("steps and DataLoaders are not operators") {
  for (const Spelling spelling : {Spelling::old_one, Spelling::new_one}) {
    MadeTrace made(spelling);
    made.step(1, 0, 100).loader(5, 30).op("collate", 10, 20).op("relu", 40, 50);
    const std::vector<OperatorTimes> operators = operators_of(made);
    CHECK(operators.size() == 2);
    check_times(find(operators, "collate"), 1, 10, 10, 0);
  }
}

TEST_CASE("device work belongs to the operator that has its external id, and to none above it") {
  MadeTrace made;
  made.op("linear", 0, 100, {.link = 1}).op("addmm", 10, 60, {.link = 2});
  made.kernel("gemm", 200, 240, {.external_id = 2}).kernel("gemm", 240, 250, {.external_id = 2});
  made.copy("Memcpy DtoD (Device -> Device)", 250, 253, {.external_id = 2}).fill(253, 254, {.external_id = 2});
  made.kernel("other", 300, 999, {.external_id = 77}).kernel("none", 300, 999);
  const std::vector<OperatorTimes> operators = operators_of(made);
  check_times(find(operators, "linear"), 1, 100, 50, 0);
  check_times(find(operators, "addmm"), 1, 50, 50, 54);
}

TEST_CASE("device work whose external id is its correlation belongs to the operator around its call") {
  // PyTorch versions around 1.13 write such ids, which may be those of unrelated operators.
  MadeTrace made;
  made.op("linear", 0, 100, {.link = 1}).op("addmm", 10, 60, {.link = 2}).op("unrelated", 200, 210, {.link = 500});
  made.launched(20, 80, 120, {.correlation = 500, .external_id = 500});
  made.launched(70, 120, 125, {.correlation = 501, .external_id = 501});
  const std::vector<OperatorTimes> operators = operators_of(made);
  check_times(find(operators, "addmm"), 1, 50, 49, 40);
  check_times(find(operators, "linear"), 1, 100, 49, 5);
  check_times(find(operators, "unrelated"), 1, 10, 10, 0);
}

TEST_CASE("device work without a call belongs to no operator if its external id is its correlation") {
  MadeTrace made;
  made.op("unrelated", 200, 210, {.link = 600}).op("known", 300, 310, {.link = 601});
  made.kernel("gemm", 0, 10, {.correlation = 600, .external_id = 600});
  made.kernel("gemm", 10, 15, {.correlation = 9, .external_id = 601});
  const std::vector<OperatorTimes> operators = operators_of(made);
  check_times(find(operators, "unrelated"), 1, 10, 10, 0);
  check_times(find(operators, "known"), 1, 10, 10, 5);
}

TEST_CASE("device work that a DataLoader launches belongs to the operator around it") {
  MadeTrace made;
  made.op("outer", 0, 100).loader(10, 50).launched(20, 60, 64, {.correlation = 5});
  check_times(find(operators_of(made), "outer"), 1, 100, 60, 4);
}

TEST_CASE("operators are in falling order of their self time on host and device") {
  MadeTrace made;
  made.op("a", 0, 10, {.link = 1}).op("b", 10, 40, {.link = 2}).op("c", 40, 60, {.link = 3});
  made.kernel("k", 0, 25, {.external_id = 1});
  const std::vector<OperatorTimes> operators = operators_of(made);
  REQUIRE(operators.size() == 3);
  CHECK(operators[0].name == "a");
  CHECK(operators[1].name == "b");
  CHECK(operators[2].name == "c");
}

TEST_CASE("kernels are summed by name, in falling order of time") {
  MadeTrace made;
  made.kernel("relu", 0, 10).kernel("volta_h884gemm", 10, 50).kernel("relu", 60, 65, {.device = 1, .stream = 9});
  made.copy("Memcpy HtoD (Pageable -> Device)", 100, 900).fill(100, 900);
  const std::vector<KernelTimes> kernels = times_of_kernels(made.read());
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "volta_h884gemm");
  CHECK(kernels[0].calls == 1);
  CHECK(kernels[0].time == 40e3);
  CHECK(kernels[0].tensor_cores);
  CHECK(kernels[1].name == "relu");
  CHECK(kernels[1].calls == 2);
  CHECK(kernels[1].time == 15e3);
  CHECK_FALSE(kernels[1].tensor_cores);
}

TEST_CASE("a trace without operators and kernels has empty tables") {
  const overview::Trace trace = MadeTrace().step(1, 0, 100).read();
  CHECK(times_of_operators(trace).empty());
  CHECK(times_of_kernels(trace).empty());
}

}  // namespace penstock::test::operators_test
