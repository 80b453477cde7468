// Diagnoses hand-made trainings.
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <overview/overview.hpp>

#include "overview/made_trace.hpp"

namespace penstock::test::diagnosis_test {
namespace {

using doctest::Approx;
using overview::Cause;
using overview::Diagnosis;

constexpr std::int64_t kMillisecond = 1000;  // in microseconds

/// The name of a cause in "Not the cause: ...".
const std::map<Cause, std::string> kNames{
    {Cause::loading, "DataLoader"},      {Cause::copies, "copies"}, {Cause::communication, "communication"},
    {Cause::synchronisation, ".item()"}, {Cause::host, "the host"}, {Cause::other, "other code"}};

/// The three milliseconds of "12 ms (10 ms to 15 ms) [predicted]"; none without a prediction.
std::vector<double> prediction(const std::string& remedy) {
  static const std::regex kPattern(R"(([0-9.]+) ms \(([0-9.]+) ms to ([0-9.]+) ms\) \[predicted\])");
  std::smatch found;
  if (!std::regex_search(remedy, found, kPattern)) return {};
  return {std::stod(found[1]), std::stod(found[2]), std::stod(found[3])};
}

void check_contains(const std::string& text, const std::string& part) {
  CHECK_MESSAGE(text.find(part) != std::string::npos, text << " lacks: " << part);
}

/// Checks what holds for every diagnosis.
Diagnosis diagnosis_of(const MadeTrace& made) {
  const overview::RankOverview rank = made.summary();
  const Diagnosis out = diagnose(rank);
  CHECK_FALSE(out.why.empty());
  CHECK_FALSE(out.remedies.empty());
  CHECK((out.cause == Cause::none) == (out.share == 0));
  CHECK(out.share <= 1);
  static const std::regex kTime(R"(([0-9.]+) ms of the ([0-9.]+) ms of a step)");
  if (std::smatch found; std::regex_search(out.why, found, kTime)) {
    CHECK(std::stod(found[1]) / std::stod(found[2]) == Approx(out.share).epsilon(0.05));
  }
  if (out.cause != Cause::none) CHECK(out.not_the_cause.find(kNames.at(out.cause)) == std::string::npos);
  for (const std::string& remedy : out.remedies) {
    CAPTURE(remedy);
    CHECK((remedy.ends_with(".") || remedy.ends_with("`.")));
    const std::vector<double> times = prediction(remedy);
    CHECK(times.empty() == (remedy.find("[predicted]") == std::string::npos));
    if (times.empty()) continue;
    CHECK(times[1] <= times[0]);
    CHECK(times[0] <= times[2]);
    CHECK(times[1] < rank.step() / 1e6);
  }
  return out;
}

/// A step of 100 ms, of which long kernels take `busy` from the beginning.
MadeTrace training(std::int64_t busy) {
  MadeTrace made;
  made.step(1, 0, 100 * kMillisecond);
  if (busy > 0) made.kernel("gemm", 0, busy * kMillisecond);
  return made;
}

}  // namespace

TEST_CASE("a DataLoader without workers should get some") {
  const Diagnosis found = diagnosis_of(training(60).loader(60 * kMillisecond, 100 * kMillisecond));
  CHECK(found.cause == Cause::loading);
  CHECK(found.share == Approx(0.4));
  check_contains(found.why, "40 ms of the 100 ms of a step");
  check_contains(found.why, "num_workers=0");
  check_contains(found.remedies[0], "num_workers 0 -> 1");
  CHECK(prediction(found.remedies[0])[0] == 61);
  check_contains(found.remedies.back(), "penstock tune");
}

TEST_CASE("a DataLoader that penstock has replaced gets no advice about workers") {
  const MadeTrace made =
      training(60).annotation("enumerate(DataLoader)#ReplacedIterator.__next__", 60 * kMillisecond, 100 * kMillisecond);
  CHECK(made.summary().loader.replaced);
  const Diagnosis found = diagnosis_of(made);
  CHECK(found.cause == Cause::loading);
  check_contains(found.why, "penstock run --replace");
  CHECK(found.why.find("num_workers") == std::string::npos);
  for (const std::string& remedy : found.remedies) CHECK(remedy.find("num_workers") == std::string::npos);
}

TEST_CASE("a cause that is smaller than the work is set beside it") {
  const Diagnosis much = diagnosis_of(training(88).loader(88 * kMillisecond, 100 * kMillisecond));
  CHECK(much.cause == Cause::loading);
  check_contains(much.why, "The kernels take more: 88 %.");
  const Diagnosis little = diagnosis_of(training(40).loader(40 * kMillisecond, 100 * kMillisecond));
  CHECK(little.why.find("take more") == std::string::npos);
}

TEST_CASE("the workers could make 1.3 times the batches that the rest of the step uses") {
  const Diagnosis found = diagnosis_of(training(10).loader(10 * kMillisecond, 100 * kMillisecond));
  check_contains(found.remedies[0], "num_workers 0 -> 12");
  const Diagnosis hopeless = diagnosis_of(training(1).loader(1 * kMillisecond, 100 * kMillisecond));
  CHECK(hopeless.cause == Cause::loading);
  for (const std::string& remedy : hopeless.remedies) CHECK(remedy.find("num_workers") == std::string::npos);
}

TEST_CASE("a DataLoader with too few workers should get more") {
  const Diagnosis found = diagnosis_of(training(60).loader(60 * kMillisecond, 100 * kMillisecond, true));
  CHECK(found.cause == Cause::loading);
  check_contains(found.why, "worker processes");
  CHECK(found.why.find("num_workers=0") == std::string::npos);
  check_contains(found.remedies[0], "num_workers x 2.2");
}

TEST_CASE("a step that is nothing but loading has a remedy without absurd numbers") {
  for (const bool workers : {false, true}) {
    CAPTURE(workers);
    const Diagnosis found = diagnosis_of(MadeTrace().step(1, 0, 100'000).loader(0, 100'000, workers));
    CHECK(found.cause == Cause::loading);
    CHECK(found.share == Approx(1));
    for (const std::string& remedy : found.remedies) {
      CAPTURE(remedy);
      CHECK_FALSE(std::regex_search(remedy, std::regex("[0-9]{4}")));
    }
  }
}

TEST_CASE("copies from pageable memory should come from pinned memory") {
  const Diagnosis found =
      diagnosis_of(training(70).copy("Memcpy HtoD (Pageable -> Device)", 70 * kMillisecond, 95 * kMillisecond));
  CHECK(found.cause == Cause::copies);
  CHECK(found.share == Approx(0.25));
  check_contains(found.why, "pageable");
  check_contains(found.remedies[0], "pin_memory=True");
}

TEST_CASE("copies from pinned memory should run beside the kernels") {
  const Diagnosis found =
      diagnosis_of(training(70).copy("Memcpy HtoD (Pinned -> Device)", 70 * kMillisecond, 95 * kMillisecond));
  CHECK(found.cause == Cause::copies);
  CHECK(found.why.find("pageable") == std::string::npos);
  check_contains(found.remedies[0], "non_blocking=True");
}

TEST_CASE("copies that kernels hide are not the cause") {
  MadeTrace made = training(98);
  made.copy("Memcpy HtoD (Pageable -> Device)", 0, 90 * kMillisecond, {.stream = 9});
  CHECK(diagnosis_of(made).cause == Cause::none);
}

TEST_CASE("collectives that no kernel hides are the cause") {
  MadeTrace made = training(50);
  made.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40 * kMillisecond, 90 * kMillisecond, {.stream = 9});
  const Diagnosis found = diagnosis_of(made);
  CHECK(found.cause == Cause::communication);
  CHECK(found.share == Approx(0.4));
  check_contains(found.why, "40 ms of the 100 ms");
}

TEST_CASE("an operator that waits in .item() is the cause, not the host") {
  MadeTrace made = training(50);
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::int64_t begin = (52 + 8 * i) * kMillisecond;
    made.op("aten::item", begin, begin + 7 * kMillisecond)
        .op("aten::_local_scalar_dense", begin, begin + 7 * kMillisecond);
    made.runtime("cudaStreamSynchronize", begin + 1, begin + 7 * kMillisecond - 1);
  }
  const Diagnosis found = diagnosis_of(made);
  CHECK(found.cause == Cause::synchronisation);
  CHECK(found.share == Approx(0.35));
  check_contains(found.why, "5.0 calls of .item() per step");
}

TEST_CASE("short kernels with a busy host should be fewer") {
  MadeTrace made;
  made.step(1, 0, 100 * kMillisecond).op("aten::add", 0, 95 * kMillisecond);
  for (std::int64_t i = 0; i < 100; ++i) made.kernel("small", 900 * i, 900 * i + 5);
  const Diagnosis found = diagnosis_of(made);
  CHECK(found.cause == Cause::host);
  CHECK(found.share == Approx(0.945));
  check_contains(found.why, "100 kernels of 5.0 us");
  check_contains(found.remedies[0], "torch.compile()");
}

TEST_CASE("a busy host with long kernels has its slowest operator named") {
  MadeTrace made = training(40);
  made.op("aten::slow", 40 * kMillisecond, 80 * kMillisecond).op("aten::fast", 80 * kMillisecond, 90 * kMillisecond);
  const Diagnosis found = diagnosis_of(made);
  CHECK(found.cause == Cause::host);
  check_contains(found.remedies[0], "aten::slow");
}

TEST_CASE("the operator that is named takes the host longest, not host and device together") {
  MadeTrace made = training(40);
  made.op("aten::slow", 40 * kMillisecond, 80 * kMillisecond)
      .op("aten::gemm", 80 * kMillisecond, 90 * kMillisecond, {.link = 5});
  made.kernel("gemm", 0, 40 * kMillisecond, {.external_id = 5});
  const Diagnosis found = diagnosis_of(made);
  CHECK(found.cause == Cause::host);
  check_contains(found.remedies[0], "aten::slow");
}

TEST_CASE("the time of the host is without that in .item()") {
  MadeTrace made = training(40);
  made.op("aten::mm", 40 * kMillisecond, 80 * kMillisecond);
  made.op("aten::_local_scalar_dense", 80 * kMillisecond, 95 * kMillisecond);
  made.runtime("cudaStreamSynchronize", 81 * kMillisecond, 95 * kMillisecond);
  const Diagnosis found = diagnosis_of(made);
  CHECK(found.cause == Cause::host);
  CHECK(found.share == Approx(0.4));
}

TEST_CASE("time without any event is other code") {
  const Diagnosis found = diagnosis_of(training(60));
  CHECK(found.cause == Cause::other);
  CHECK(found.share == Approx(0.4));
  check_contains(found.remedies[0], "with_stack=True");
}

TEST_CASE("a training whose device always works has no cause, and the shares of the others are listed") {
  MadeTrace made = training(98);
  made.loader(98 * kMillisecond, 99 * kMillisecond);
  const Diagnosis found = diagnosis_of(made);
  CHECK(found.cause == Cause::none);
  check_contains(found.why, "98 %");
  check_contains(found.not_the_cause, "DataLoader 1 %");
}

TEST_CASE("a training on the CPU whose operators take the time has no cause") {
  const Diagnosis found = diagnosis_of(MadeTrace().step(1, 0, 100'000).op("aten::mm", 0, 99'000));
  CHECK(found.cause == Cause::none);
  check_contains(found.why, "CPU");
  check_contains(found.why, "99 %");
}

TEST_CASE("the largest cause is named, and others above a twentieth are not said to be none") {
  MadeTrace made = training(50);
  made.loader(50 * kMillisecond, 80 * kMillisecond).op("aten::mm", 80 * kMillisecond, 98 * kMillisecond);
  const Diagnosis found = diagnosis_of(made);
  CHECK(found.cause == Cause::loading);
  CHECK(found.not_the_cause.find("the host") == std::string::npos);
  check_contains(found.not_the_cause, "other code 2 %");
}

TEST_CASE("a share of 10 % is a cause, of a DataLoader 5 %, and one below is not") {
  CHECK(diagnosis_of(training(90)).cause == Cause::other);
  MadeTrace computing;
  computing.step(1, 0, 100'000).kernel("gemm", 0, 90'001);
  CHECK(diagnosis_of(computing).cause == Cause::none);
  CHECK(diagnosis_of(training(95).loader(95 * kMillisecond, 100 * kMillisecond)).cause == Cause::loading);
  MadeTrace loading;
  loading.step(1, 0, 100'000).kernel("gemm", 0, 95'001).loader(95'001, 100'000);
  CHECK(diagnosis_of(loading).cause == Cause::none);
}

TEST_CASE("a step without length has a diagnosis") {
  CHECK(diagnosis_of(MadeTrace().step(1, 50, 50)).cause == Cause::none);
}

}  // namespace penstock::test::diagnosis_test
