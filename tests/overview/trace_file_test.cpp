// Reads files of traces that are compressed, cut, broken, or something else.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include <overview/trace/read_trace.hpp>
#include <penstock/error.hpp>

#include "overview/made_trace.hpp"
#include "overview/read_events.hpp"
#include "support/kind_of_failure.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"

namespace penstock::test::trace_file_test {
namespace {

using overview::read_trace;
using overview::Trace;

ErrorKind failure(const std::string& bytes) {
  const TemporaryFolder folder;
  write_file(folder / "trace.json", bytes);
  return kind_of_failure([&] { read_trace(folder / "trace.json"); });
}

std::string compressed(const std::string& text) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(6), libdeflate_free_compressor);
  std::string out(libdeflate_gzip_compress_bound(compressor.get(), text.size()), '\0');
  out.resize(libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), out.data(), out.size()));
  return out;
}

MadeTrace many_operators(int count) {
  MadeTrace made;
  for (int i = 0; i < count; ++i) made.op("op" + std::to_string(i % 7), 10 * i, 10 * i + 3 + i % 5, {.link = i + 1});
  return made;
}

/// Reads a damaged file. Events must be those at the beginning of the whole trace, and a note or an error must say what
/// is wrong, unless `whole` says that nothing is missing. Returns the number of events, or nothing after an error.
std::optional<std::size_t> read_damaged(const std::filesystem::path& path, const std::vector<AnyEvent>& events,
                                        bool whole) {
  try {
    const Trace trace = read_trace(path);
    const std::vector<AnyEvent> found = events_of(trace);
    const bool prefix = found.size() <= events.size() && std::equal(found.begin(), found.end(), events.begin());
    CHECK(prefix);
    CHECK(trace.notes.empty() == whole);
    return found.size();
  } catch (const Error& error) {
    const bool expected = error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::unsupported;
    CHECK_MESSAGE(expected, error.what());
    CHECK_FALSE(whole);
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("gzip of one or several members gives the same trace, under any file name") {
  const std::string text = many_operators(3000).text();
  const std::vector<AnyEvent> events = events_of(many_operators(3000).read());
  const std::size_t third = text.size() / 3;
  const TemporaryFolder folder;
  for (const std::string name : {"trace.json.gz", "trace.json", "trace"}) {
    write_file(folder / name, compressed(text));
    CHECK(events_of(read_trace(folder / name)) == events);
    write_file(folder / name, compressed(text.substr(0, third)) + compressed("") +
                                  compressed(text.substr(third, third)) + compressed(text.substr(2 * third)));
    const Trace trace = read_trace(folder / name);
    CHECK(events_of(trace) == events);
    CHECK(trace.bytes == text.size());
    CHECK(trace.notes.empty());
  }
}

TEST_CASE("a file that is cut anywhere gives the events before the cut, and a note") {
  const MadeTrace made = one_of_each(Spelling::new_one);
  const std::string text = made.text();
  const Trace whole = made.read();
  const TemporaryFolder folder;
  const std::size_t begin = text.find("\"traceEvents\": [") + 16, last = text.rfind('}') + 1;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    CAPTURE(length);
    const std::string rest = text.substr(0, length);
    write_file(folder / "cut.json", rest);
    try {
      const Trace trace = read_trace(folder / "cut.json");
      CHECK(length >= begin);
      CHECK(trace.notes.empty() == (length >= last));
      CHECK(trace.bytes == length);
      // Each event is a line that ends with "}" or "},".
      std::size_t lines = 0;
      for (std::size_t i = begin; i < length; ++i) {
        if (text[i] == '}' && (text[i + 1] == '\n' || text.substr(i + 1, 2) == ",\n")) ++lines;
      }
      CHECK(trace.events == std::min(lines, std::size_t{9}));
      CHECK(trace.host.size() == std::min<std::size_t>(trace.events, 4));
      CHECK(trace.device.size() == std::min<std::size_t>(std::max<std::size_t>(trace.events, 4) - 4, 3));
      for (std::size_t i = 0; i < trace.host.size(); ++i) {
        CHECK(trace.host[i].begin == whole.host[i].begin);
        CHECK(trace.host[i].end == whole.host[i].end);
        CHECK(trace.host[i].link == whole.host[i].link);
      }
    } catch (const Error& error) {
      CHECK_MESSAGE(length < begin, error.what());
      CHECK(error.kind() == ErrorKind::corrupt);
    }
  }
}

TEST_CASE("a compressed file that is cut anywhere gives an error or the events before the cut") {
  const MadeTrace made = many_operators(2000);
  const std::vector<AnyEvent> events = events_of(made.read());
  const std::string bytes = compressed(made.text());
  const TemporaryFolder folder;
  std::size_t most = 0;
  for (std::size_t length = 0; length < bytes.size(); length += length < 64 || length + 64 > bytes.size() ? 1U : 53U) {
    CAPTURE(length);
    write_file(folder / "cut.json.gz", bytes.substr(0, length));
    most = std::max(most, read_damaged(folder / "cut.json.gz", events, false).value_or(0));
  }
  CHECK(most > events.size() / 2);
}

TEST_CASE("a compressed file with a wrong checksum has a note") {
  std::string bytes = compressed(many_operators(100).text());
  bytes[bytes.size() - 8] ^= 1;  // the CRC of the text, before its length
  const TemporaryFolder folder;
  write_file(folder / "trace.json.gz", bytes);
  const Trace trace = read_trace(folder / "trace.json.gz");
  CHECK(trace.host.size() == 100);
  CHECK(trace.notes.size() == 1);
}

TEST_CASE("a file with changed bytes gives an error or a trace") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string text = one_of_each(Spelling::new_one).text();
  const TemporaryFolder folder;
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    std::string changed = text;
    for (int i = 0; i <= round % 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    write_file(folder / "changed", round % 4 == 0 ? compressed(changed) : changed);
    try {
      const Trace trace = read_trace(folder / "changed");
      CHECK(trace.host.size() + trace.device.size() <= 9);
    } catch (const Error& error) {
      CHECK(error.is_data_fault());
    }
  }
}

TEST_CASE("a broken place in the middle ends the events, and a note names it") {
  for (const std::string broken : {R"(a\qb)", R"(a\u12)", "a\nb", "a\xFF", "a\xC3"}) {
    CAPTURE(broken);
    MadeTrace made;
    made.op("first", 0, 1).op("second", 1, 2).op(broken, 2, 3).op("later", 3, 4);
    const std::size_t place = made.text().find("\"cpu_op\", \"name\": \"" + broken);
    const Trace trace = made.read();
    CHECK(trace.host.size() == 2);
    REQUIRE(trace.notes.size() == 1);
    CHECK(trace.notes[0].find("broken") != std::string::npos);
    CHECK(trace.bytes > place);
    CHECK(trace.bytes < place + 40);
  }
}

TEST_CASE("files that are not traces give an error that names the expected format") {
  CHECK(failure("") == ErrorKind::corrupt);
  CHECK(failure("   \n") == ErrorKind::corrupt);
  CHECK(failure("hello") == ErrorKind::corrupt);
  CHECK(failure("{\"a\": ") == ErrorKind::corrupt);
  CHECK(failure("\x89PNG\r\n\x1A\n" + std::string(5000, '\x7F')) == ErrorKind::corrupt);
  CHECK(failure(std::string(3000, '\0')) == ErrorKind::corrupt);
  CHECK(failure(compressed("")) == ErrorKind::corrupt);
  CHECK(failure("{}") == ErrorKind::unsupported);
  CHECK(failure("17") == ErrorKind::unsupported);
  CHECK(failure("\"text\"") == ErrorKind::unsupported);
  CHECK(failure(R"({"images": [{"id": 1}], "annotations": []})") == ErrorKind::unsupported);
  CHECK(failure(R"({"a": {"traceEvents": [{"ph": "X"}]}})") == ErrorKind::unsupported);
  CHECK(failure(R"({"traceEvents": null})") == ErrorKind::unsupported);
  CHECK(failure(compressed("{}")) == ErrorKind::unsupported);
  const TemporaryFolder folder;
  CHECK(kind_of_failure([&] { read_trace(folder / "absent.json"); }) == ErrorKind::io);
  CHECK(kind_of_failure([&] { read_trace(folder.path()); }) == ErrorKind::io);
  write_file(folder / "photo.png", "\x89PNG");
  CHECK_THROWS_WITH_AS(read_trace(folder / "photo.png"), doctest::Contains("photo.png"), Error);
  CHECK_THROWS_WITH_AS(read_trace(folder / "photo.png"), doctest::Contains("trace of the PyTorch profiler"), Error);
  CHECK_THROWS_WITH_AS(read_trace(folder / "absent.json"), doctest::Contains("absent.json"), Error);
}

TEST_CASE("an empty list of events is a trace without events") {
  for (const std::string text : {"[]", "{\"traceEvents\": []}"}) {
    const Trace trace = read(text);
    CHECK(trace.events == 0);
    CHECK(trace.host.empty());
    CHECK(trace.notes.empty());
  }
}

TEST_CASE("values in a list of events that are not objects are ignored") {
  const Trace trace =
      read(R"([1, "a", null, [2, {"ph": "X"}], {"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1}])");
  CHECK(trace.host.size() == 1);
  CHECK(trace.notes.empty());
}

TEST_CASE("100,000 brackets inside each other do not exhaust the stack") {
  const std::string open(100'000, '['), close(100'000, ']');
  const std::string event = R"({"ph": "X", "cat": "cpu_op", "name": "deep", "ts": 1, "dur": 1, "args": {"x": )";
  const Trace trace = MadeTrace().event(event + open + close + ", \"External id\": 5}}").op("after", 5, 6).read();
  CHECK(trace.host.size() == 2);
  CHECK(trace.host[0].link == 5);
  CHECK(trace.notes.empty());
  CHECK(read(open).notes.size() == 1);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK(failure(objects) == ErrorKind::corrupt);
}

TEST_CASE("progress counts the bytes of the file, and stops the reading") {
  const std::string text = many_operators(40'000).text();
  REQUIRE(text.size() > std::size_t{3} << 20);
  const TemporaryFolder folder;
  for (const std::string& bytes : {text, compressed(text)}) {
    write_file(folder / "trace", bytes);
    std::vector<std::uint64_t> seen;
    read_trace(folder / "trace", [&](std::uint64_t read) {
      seen.push_back(read);
      return true;
    });
    CHECK(std::is_sorted(seen.begin(), seen.end()));
    REQUIRE(seen.size() > 2);
    CHECK(seen.back() <= bytes.size());
    CHECK(seen.back() + 16 >= bytes.size());
    std::size_t calls = 0;
    CHECK(kind_of_failure([&] { read_trace(folder / "trace", [&](std::uint64_t) { return ++calls < 2; }); }) ==
          ErrorKind::resource);
    CHECK(calls == 2);
  }
}

TEST_CASE("an exception of progress passes through") {
  struct Stop {};
  const TemporaryFolder folder;
  write_file(folder / "trace", many_operators(10'000).text());
  CHECK_THROWS_AS(read_trace(folder / "trace", [](std::uint64_t) -> bool { throw Stop(); }), Stop);
}

TEST_CASE("the traces of real trainings are read completely") {
  for (const std::filesystem::path& path : ::test::data_files("traces")) {
    if (path.string().find(".json") == std::string::npos) continue;
    CAPTURE(path.string());
    const Trace trace = read_trace(path);
    CHECK(trace.notes.empty());
    CHECK(trace.skipped == 0);
    CHECK(trace.host.size() > 5);
    CHECK(trace.events >= trace.host.size() + trace.device.size());
  }
}

}  // namespace penstock::test::trace_file_test
