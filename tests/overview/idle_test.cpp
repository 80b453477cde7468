// Splits the idle time of the streams of hand-made traces.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <overview/device_use.hpp>
#include <overview/steps.hpp>

#include "overview/made_trace.hpp"

namespace penstock::test::idle_test {
namespace {

using doctest::Approx;
using overview::StreamIdle;

std::vector<StreamIdle> streams_of(const MadeTrace& made) {
  const overview::Trace trace = made.read();
  return idle_of_streams(trace, find_steps(trace));
}

StreamIdle idle_of(const MadeTrace& made) {
  const std::vector<StreamIdle> streams = streams_of(made);
  REQUIRE(streams.size() == 1);
  return streams[0];
}

/// Times are in microseconds.
void check_times(const StreamIdle& idle, double host, double kernel, double other) {
  CHECK(idle.host == Approx(host * 1e3));
  CHECK(idle.kernel == Approx(kernel * 1e3));
  CHECK(idle.other == Approx(other * 1e3));
  CHECK(idle.idle() == Approx((host + kernel + other) * 1e3));
}

MadeTrace one_step() {
  return MadeTrace().step(1, 0, 1000);
}

}  // namespace

TEST_CASE("a stream waits for the host if the next event is launched after the last one has ended") {
  MadeTrace made = one_step();
  made.launched(0, 10, 20, {.correlation = 1}).launched(25, 35, 50, {.correlation = 2});
  check_times(idle_of(made), 15, 0, 0);
}

TEST_CASE("it waits for a kernel below 30 us, and for another stream from then on") {
  const auto after = [](std::int64_t gap) {
    MadeTrace made = one_step();
    made.launched(0, 10, 20, {.correlation = 1}).launched(1, 20 + gap, 100, {.correlation = 2});
    return idle_of(made);
  };
  check_times(after(0), 0, 0, 0);
  check_times(after(1), 0, 1, 0);
  check_times(after(29), 0, 29, 0);
  check_times(after(30), 0, 0, 30);
  check_times(after(45), 0, 0, 45);
}

TEST_CASE("a launch at the moment in which the last event ends is not late") {
  MadeTrace made = one_step();
  made.launched(0, 10, 20, {.correlation = 1}).launched(20, 24, 50, {.correlation = 2});
  check_times(idle_of(made), 0, 4, 0);
}

TEST_CASE("copies and fills are events of a stream, in the order of time") {
  MadeTrace made = one_step();
  made.fill(60, 70, {.correlation = 3}).runtime("cudaMemsetAsync", 2, 3, {.link = 3});
  made.copy("Memcpy HtoD (Pageable -> Device)", 30, 50, {.correlation = 2});
  made.runtime("cudaMemcpyAsync", 25, 55, {.link = 2}).launched(0, 10, 20, {.correlation = 1});
  const StreamIdle idle = idle_of(made);
  CHECK(idle.events == 3);
  check_times(idle, 10, 10, 0);
}

TEST_CASE("without the launch, the length of the gap decides") {
  MadeTrace made = one_step();
  made.kernel("a", 10, 20).kernel("b", 25, 30).kernel("c", 100, 110);
  check_times(idle_of(made), 0, 5, 70);
}

TEST_CASE("streams and devices wait each for themselves, in the order of their numbers") {
  MadeTrace made = one_step();
  made.launched(0, 10, 20, {.correlation = 1, .device = 1, .stream = 7});
  made.launched(1, 20, 60, {.correlation = 2, .device = 0, .stream = 20});
  made.launched(2, 30, 40, {.correlation = 3, .device = 0, .stream = 7});
  made.launched(45, 50, 60, {.correlation = 4, .device = 0, .stream = 7});
  const std::vector<StreamIdle> streams = streams_of(made);
  REQUIRE(streams.size() == 3);
  CHECK(streams[0].device == 0);
  CHECK(streams[0].stream == 7);
  CHECK(streams[0].events == 2);
  check_times(streams[0], 10, 0, 0);
  CHECK(streams[1].stream == 20);
  check_times(streams[1], 0, 0, 0);
  CHECK(streams[2].device == 1);
}

TEST_CASE("a part of the wait for the host is that in a DataLoader") {
  MadeTrace made = one_step();
  made.launched(0, 10, 20, {.correlation = 1});
  made.loader(12, 30).loader(25, 45, false, {.thread = 2}).loader(85, 999);
  made.launched(50, 60, 70, {.correlation = 2});   // the gap from 20 to 60 is the host's
  made.launched(55, 90, 100, {.correlation = 3});  // the gap from 70 to 90 is not
  const StreamIdle idle = idle_of(made);
  check_times(idle, 40, 20, 0);
  CHECK(idle.host_in_loader == Approx(25e3));
}

TEST_CASE("the device work of the last step is left out, if there are several steps") {
  const auto with_steps = [](int steps) {
    MadeTrace made;
    for (int i = 1; i <= steps; ++i) made.step(i, 100 * i, 100 * i + 100);
    made.launched(90, 91, 95, {.correlation = 1}).launched(100, 103, 105, {.correlation = 2});
    made.launched(190, 195, 207, {.correlation = 3});
    made.launched(200, 209, 210, {.correlation = 4}).launched(220, 230, 240, {.correlation = 5});
    made.kernel("unknown", 250, 251);
    return idle_of(made);
  };
  CHECK(with_steps(1).events == 6);
  check_times(with_steps(1), 8 + 90 + 20, 2 + 10, 0);
  CHECK(with_steps(2).events == 3);
  check_times(with_steps(2), 8 + 90, 0, 0);
}

TEST_CASE("the queue grows with each launch and shrinks when an event begins") {
  MadeTrace made = one_step();
  made.launched(0, 10, 20, {.correlation = 1}).launched(1, 20, 30, {.correlation = 2});
  made.launched(2, 30, 40, {.correlation = 3});
  const StreamIdle idle = idle_of(made);
  CHECK(idle.queue_max == 3);
  CHECK(idle.queue_mean == Approx((1 + 2 + 3 + 2 + 1 + 0) / 6.0));
}

TEST_CASE("a launch at the moment in which another event begins is counted first") {
  MadeTrace made = one_step();
  made.launched(0, 10, 20, {.correlation = 1}).launched(10, 20, 30, {.correlation = 2});
  const StreamIdle idle = idle_of(made);
  CHECK(idle.queue_max == 2);
  CHECK(idle.queue_mean == Approx((1 + 2 + 1 + 0) / 4.0));
}

TEST_CASE("an event whose launch is unknown is not in the queue") {
  MadeTrace made = one_step();
  made.launched(0, 10, 20, {.correlation = 1}).kernel("unknown", 30, 40, {.correlation = 99});
  const StreamIdle idle = idle_of(made);
  CHECK(idle.events == 2);
  CHECK(idle.queue_max == 1);
  CHECK(idle.queue_mean == Approx(0.5));
}

TEST_CASE("a stream with a single event waits for nothing") {
  const StreamIdle idle = idle_of(one_step().launched(0, 500, 600, {.correlation = 1}));
  CHECK(idle.events == 1);
  CHECK(idle.idle() == 0);
}

TEST_CASE("a trace without device work has no streams") {
  CHECK(streams_of(one_step().op("aten::add", 1, 2)).empty());
}

}  // namespace penstock::test::idle_test
