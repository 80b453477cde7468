// Reads the events of traces: every spelling, and exact times.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <overview/trace/read_trace.hpp>
#include <penstock/error.hpp>

#include "overview/made_trace.hpp"
#include "overview/read_events.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"

namespace penstock::test::read_trace_test {
namespace {

using overview::DeviceEvent;
using overview::DeviceKind;
using overview::HostEvent;
using overview::HostKind;
using overview::read_trace;
using overview::Trace;

/// A trace with one operator. `ts` and `dur` are written with these texts.
Trace timed(const std::string& begin, const std::string& duration) {
  return read(MadeTrace()
                  .event(R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": )" + begin +
                         ", \"dur\": " + duration + "}")
                  .text());
}

std::int64_t begin_of(const std::string& text) {
  const Trace trace = timed(text, "1");
  REQUIRE(trace.host.size() == 1);
  CHECK(trace.host[0].end == trace.host[0].begin + 1000);
  return trace.host[0].begin;
}

}  // namespace

TEST_CASE("microseconds become nanoseconds exactly, in every notation") {
  CHECK(begin_of("0") == 0);
  CHECK(begin_of("12") == 12'000);
  CHECK(begin_of("12.0") == 12'000);
  CHECK(begin_of("12.5") == 12'500);
  CHECK(begin_of("12.345") == 12'345);
  CHECK(begin_of("0.001") == 1);
  CHECK(begin_of("-7") == -7'000);
  CHECK(begin_of("-7.25") == -7'250);
  CHECK(begin_of("-0.25") == -250);
  CHECK(begin_of("1.5e3") == 1'500'000);
  CHECK(begin_of("15E-1") == 1'500);
  CHECK(begin_of("2e+2") == 200'000);
  CHECK(begin_of("-2.5e1") == -25'000);
}

TEST_CASE("a time since 1970 keeps its nanoseconds, which a double does not hold") {
  CHECK(begin_of("1712170240123456.789") == 1'712'170'240'123'456'789);
  CHECK(begin_of("1712170240123456.001") == 1'712'170'240'123'456'001);
  CHECK(begin_of("1712170240123456") == 1'712'170'240'123'456'000);
  const Trace trace = timed("1712170240123456.789", "0.213");
  CHECK(trace.host[0].end == 1'712'170'240'123'457'002);
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    const auto time = static_cast<std::int64_t>(random() % 2'000'000'000'000'000'000);
    const std::string part = std::to_string(1000 + time % 1000).substr(1);
    CHECK(begin_of(std::to_string(time / 1000) + "." + part) == time);
  }
}

TEST_CASE("decimals below a nanosecond are rounded") {
  CHECK(begin_of("3.0004") == 3'000);
  CHECK(begin_of("3.00059") == 3'001);
  CHECK(begin_of("3.9996") == 4'000);
  CHECK(begin_of("3.12345678901234567890") == 3'123);
}

TEST_CASE("numbers beyond 2^53 and 2^64 neither lose digits nor disturb an event") {
  const auto event = [](const std::string& args) {
    return read(
        MadeTrace()
            .event(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {)" +
                   args + R"(, "device": 2, "stream": 9}})")
            .op("after", 10, 11)
            .text());
  };
  CHECK(event(R"("correlation": 9007199254740993)").device.at(0).correlation == 9007199254740993U);
  CHECK(event(R"("External id": 9007199254740993)").device.at(0).external_id == 9007199254740993U);
  for (const std::string args : {R"("correlation": 18446744073709551615)", R"("Addr": 18446744073709551616)",
                                 R"("Addr": -9223372036854775809)", R"("x": 123456789012345678901234567890)"}) {
    const Trace trace = event(args);
    CAPTURE(args);
    CHECK(trace.notes.empty());
    REQUIRE(trace.device.size() == 1);
    CHECK(trace.device[0].device == 2);
    CHECK(trace.device[0].stream == 9);
    CHECK(trace.host.size() == 1);
  }
}

TEST_CASE("an event whose time is missing, negative or too large is left out and counted") {
  const auto event = [](const std::string& members) {
    return R"({"ph": "X", "cat": "cpu_op", "name": "bad", "pid": 1, "tid": 1)" + members + "}";
  };
  const std::vector<std::string> bad{
      R"(, "ts": 5)",
      R"(, "dur": 5)",
      R"(, "ts": 5, "dur": -1)",
      R"(, "ts": 5, "dur": -0.5)",
      R"(, "ts": 5, "dur": null)",
      R"(, "ts": "5", "dur": 1)",
      R"(, "ts": 18446744073709551616, "dur": 1)",
      R"(, "ts": 9223372036854775807, "dur": 1)",
      R"(, "ts": 1e300, "dur": 1)",
      R"(, "ts": 4611686018427387, "dur": 4611686018427387)",
  };
  MadeTrace made;
  made.op("first", 0, 1);
  for (const std::string& members : bad) made.event(event(members));
  made.op("last", 2, 3);
  const Trace trace = made.read();
  CHECK(trace.host.size() == 2);
  CHECK(trace.skipped == bad.size());
  CHECK(trace.events == bad.size() + 2);
  REQUIRE(trace.notes.size() == 1);
  CHECK(trace.notes[0].find(std::to_string(bad.size())) != std::string::npos);
}

TEST_CASE("the old and the new spelling of categories give the same events") {
  const Trace trace = one_of_each(Spelling::new_one).read();
  CHECK(events_of(one_of_each(Spelling::old_one).read()) == events_of(trace));
  CHECK(trace.events == 9);
  CHECK(trace.skipped == 0);
  CHECK(trace.notes.empty());
  REQUIRE(trace.host.size() == 4);
  CHECK(trace.host[0].kind == HostKind::step);
  CHECK(trace.host[1].kind == HostKind::loader);
  CHECK(trace.host[2].kind == HostKind::op);
  CHECK(trace.host[2].link == 41);
  CHECK(trace.host[3].kind == HostKind::runtime);
  CHECK(trace.host[3].link == 77);
  REQUIRE(trace.device.size() == 3);
  CHECK(trace.device[0].kind == DeviceKind::kernel);
  CHECK(trace.device[0].external_id == 41);
  CHECK(trace.device[0].blocks_per_sm == 1.5F);
  CHECK(trace.device[0].occupancy == 50);
  CHECK(trace.device[1].kind == DeviceKind::memcpy);
  CHECK(trace.device[1].device == 1);
  CHECK(trace.device[1].stream == 20);
  CHECK(std::isnan(trace.device[1].blocks_per_sm));
  CHECK(std::isnan(trace.device[1].occupancy));
  CHECK(trace.device[2].kind == DeviceKind::memset);
}

TEST_CASE(
    "runtime and driver calls of CUDA and HIP are runtime calls; Python functions and annotations are their own") {
  MadeTrace made;
  for (const std::string category : {"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "Runtime"}) {
    made.event(R"({"ph": "X", "cat": ")" + std::string(category) +
               R"(", "name": "launch", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"correlation": 4}})");
  }
  made.event(R"({"ph": "X", "cat": "python_function", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 1})");
  made.annotation("Optimizer.step#SGD.step", 1, 2);
  const Trace trace = made.read();
  REQUIRE(trace.host.size() == 7);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(trace.host[i].kind == HostKind::runtime);
    CHECK(trace.host[i].link == 4);
  }
  CHECK(trace.host[5].kind == HostKind::python);
  CHECK(trace.host[6].kind == HostKind::annotation);
}

TEST_CASE("the members of an event may come in any order, and arguments of any shape do not disturb it") {
  std::vector<std::string> members{
      R"("args": {"Input Dims": [[1, 2], []], "correlation": 12, "nested": {"correlation": 13, "stream": 99, "ts": 1},
         "Call stack": "a;b", "External id": 14, "x": null, "y": true, "device": 1, "z": -1.5e9, "stream": 3})",
      R"("ph": "X")",
      R"("cat": "kernel")",
      R"("name": "k")",
      R"("pid": 5)",
      R"("tid": "stream 3")",
      R"("ts": 8)",
      R"("dur": 2)",
      R"("unknown": [{"ts": 77, "name": "other"}, 3])",
      R"("s": {"name": "inner", "args": {"stream": 5}})",
  };
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    std::shuffle(members.begin(), members.end(), random);
    std::string text;
    for (const std::string& member : members) text += (text.empty() ? "{" : ", ") + member;
    CAPTURE(text);
    const Trace trace = MadeTrace().event(text + "}").read();
    CHECK(events_of(trace) == std::vector<AnyEvent>{{"k", 8'000, 10'000, 12, 14, "1/3", 100}});
    CHECK(trace.events == 1);
  }
}

TEST_CASE("an event takes no value from the event before it") {
  MadeTrace made;
  made.kernel("full", 1, 2, {.correlation = 5, .external_id = 6, .device = 1, .stream = 3, .blocks_per_sm = 2});
  made.event(R"({"ph": "X", "cat": "kernel", "name": "bare", "pid": 0, "tid": 0, "ts": 3, "dur": 1})");
  made.event(R"({"ph": "X", "cat": "kernel", "name": "list", "pid": 0, "tid": 0, "ts": 5, "dur": 1, "args": [8, 9]})");
  made.event(R"({"ph": "X", "cat": "kernel", "name": "text", "pid": 0, "tid": 0, "ts": 7, "dur": 1, "args": "x"})");
  CHECK(events_of(made.read()) == std::vector<AnyEvent>{{"full", 1'000, 2'000, 5, 6, "1/3 blocks 2.000000", 100},
                                                        {"bare", 3'000, 4'000, 0, 0, "0/0", 100},
                                                        {"list", 5'000, 6'000, 0, 0, "0/0", 100},
                                                        {"text", 7'000, 8'000, 0, 0, "0/0", 100}});
}

TEST_CASE("process and thread may be text or a number") {
  MadeTrace made;
  for (const std::string place :
       {R"("pid": 12, "tid": 34)", R"("pid": "12", "tid": "34")", R"("pid": "12", "tid": 34)"}) {
    made.event(R"({"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, )" + std::string(place) + "}");
  }
  made.event(R"({"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "pid": 12, "tid": "main"})");
  const Trace trace = made.read();
  REQUIRE(trace.threads.size() == 2);
  CHECK(trace.threads[0].process == "12");
  CHECK(trace.threads[0].id == "34");
  CHECK(trace.threads[1].id == "main");
  CHECK(trace.host[2].thread == 0);
  CHECK(trace.host[3].thread == 1);
}

TEST_CASE("a device event without a device and a stream in its arguments has those of its process and thread") {
  const Trace trace =
      MadeTrace()
          .event(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 3, "tid": 20, "ts": 1, "dur": 1, "args": {}})")
          .read();
  REQUIRE(trace.device.size() == 1);
  CHECK(trace.device[0].device == 3);
  CHECK(trace.device[0].stream == 20);
}

TEST_CASE("names are text in UTF-8, and equal names have one number") {
  MadeTrace made;
  made.event(R"({"ph": "X", "cat": "cpu_op", "name": "a\u00e9\"\\\n", "pid": 1, "tid": 1, "ts": 1, "dur": 1})");
  made.event("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\xC3\xA9\\\"\\\\\\n\", \"ts\": 1, \"dur\": 1}");
  const Trace trace = made.read();
  REQUIRE(trace.host.size() == 2);
  CHECK(trace.names.text(trace.host[0].name) == "a\xC3\xA9\"\\\n");
  CHECK(trace.host[0].name == trace.host[1].name);
}

TEST_CASE("a list of events at the top is a trace") {
  const std::string text = one_of_each(Spelling::new_one).text();
  const std::size_t begin = text.find("\"traceEvents\": ") + 15, end = text.rfind(']') + 1;
  const Trace trace = read(text.substr(begin, end - begin));
  CHECK(events_of(trace) == events_of(one_of_each(Spelling::new_one).read()));
  CHECK(trace.notes.empty());
}

TEST_CASE("members before and after the events describe the process and its devices") {
  const std::string info = R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_count": 2,
    "pg_config": [{"pg_name": "0", "rank": 77, "ranks": [0, 1]}, {"backend": "gloo", "world_size": 5}]})";
  const std::string devices = R"([{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150754820096, "numSms": 132},
    {"id": 1, "name": "Tesla V100", "totalGlobalMem": 34084028416, "multiProcessorCount": 80}])";
  const auto check = [](const Trace& trace) {
    CHECK(trace.rank == 3);
    CHECK(trace.world_size == 8);
    CHECK(trace.backend == "nccl");
    CHECK(trace.base_nanoseconds == 1'712'000'000'000'000'001);
    REQUIRE(trace.devices.size() == 2);
    CHECK(trace.devices[0].name == "NVIDIA H200");
    CHECK(trace.devices[0].multiprocessors == 132);
    CHECK(trace.devices[0].memory_bytes == 150754820096);
    CHECK(trace.devices[1].id == 1);
    CHECK(trace.devices[1].name == "Tesla V100");
    CHECK(trace.devices[1].multiprocessors == 80);
    CHECK(trace.host.size() == 1);
  };
  const std::string base = R"("baseTimeNanoseconds": 1712000000000000001)";
  for (const std::string list : {"\"deviceProperties\": ", "\"computeProperties\": "}) {
    check(MadeTrace().head(info).head(list + devices).head(base).op("a", 0, 1).read());
    std::string text = MadeTrace().op("a", 0, 1).text();
    text.insert(text.rfind('}'), "," + info + "," + list + devices + "," + base);
    check(read(text));
  }
  const Trace without = MadeTrace().op("a", 0, 1).read();
  CHECK_FALSE(without.rank);
  CHECK_FALSE(without.world_size);
  CHECK(without.backend.empty());
}

TEST_CASE("allocations and releases are memory events") {
  MadeTrace made;
  made.event(R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5.25,
    "args": {"Total Reserved": 2097152, "Total Allocated": 512, "Bytes": 512, "Addr": 139942150668288, "Device Id": 1,
    "Device Type": 1}})");
  made.event(R"({"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 6,
    "args": {"Bytes": -4096, "Device Id": -1, "Device Type": 0}})");
  made.event(R"({"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 7, "args": {"Device Type": 0}})");
  made.event(R"({"ph": "i", "name": "Record Window End", "pid": "Traces", "tid": "Trace", "ts": 90, "s": "g"})");
  const Trace trace = made.read();
  REQUIRE(trace.memory.size() == 2);
  CHECK(trace.memory[0].time == 5'250);
  CHECK(trace.memory[0].bytes == 512);
  CHECK(trace.memory[0].allocated == 512);
  CHECK(trace.memory[0].reserved == 2097152);
  CHECK(trace.memory[0].device_type == 1);
  CHECK(trace.memory[0].device == 1);
  CHECK(trace.memory[1].bytes == -4096);
  CHECK(trace.memory[1].allocated == -1);
  CHECK(trace.memory[1].reserved == -1);
  CHECK(trace.memory[1].device_type == 0);
}

}  // namespace penstock::test::read_trace_test
