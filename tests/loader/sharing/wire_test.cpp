// Tests the messages of shared batches: frames in pieces, descriptors, and messages that are wrong.
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <loader/sharing/notes.hpp>
#include <loader/sharing/wire.hpp>
#include <penstock/error.hpp>

namespace penstock::test::wire_test {
namespace {

using sharing::Connection;
using sharing::Frame;
using sharing::Kind;
using sharing::NotedBatch;
using sharing::WireReader;
using sharing::WireWriter;

struct Pair {
  Pair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0); }
  int ends[2] = {-1, -1};
  UnforkedDescriptor end(int number) {
    return UnforkedDescriptor([&] { return ends[number]; });
  }
};

// A note of two rows, as a hub writes it.
std::string note_of(const BatchRecord& record) {
  WireWriter to;
  sharing::write(to, record, [](const Field&) { return sharing::ValuePlace{.region = 1, .offset = 256}; });
  return to.take();
}

struct Noted {
  Noted() {
    outputs.push_back({.name = "npy", .sources = {}, .dtype = DType::f32, .shape = {3}});
    record.rows = 2;
    record.samples = {1, 3};
    record.occurrences = {0, 0};
    record.valid = {1, 1};
    record.cleared = {0, 0};
    record.mix = MixDraw{.kind = Mix::Kind::cutmix, .lambda = 0.25, .box = {1, 2, 3, 4}};
    record.bad.push_back({.key = "k", .field = "f", .cause = "c", .sample = 3, .epoch = 2, .position = 7});
    record.fields.push_back(
        {.name = "npy", .values = {.data = nullptr, .dtype = DType::f32, .shape = {2, 3}}, .offsets = {}});
  }
  std::vector<Output> outputs;
  BatchRecord record;
};

}  // namespace

TEST_CASE("frames arrive whole and in order, however they are cut, with their descriptors") {
  Pair pair;
  Connection receives(pair.end(1));
  Connection sends(pair.end(0));
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::string bodies;
  for (int i = 0; i < 50; ++i) {
    const std::string body(static_cast<std::size_t>(i * i * 40), static_cast<char>('a' + i % 26));
    sends.send({.kind = Kind::batch, .body = body, .beside = std::vector<int>(static_cast<std::size_t>(i % 3), file)});
  }
  int number = 0;
  while (number < 50) {
    sends.flush();
    REQUIRE(receives.receive());
    while (const auto frame = receives.next()) {
      CHECK(frame->kind == Kind::batch);
      CHECK(frame->body ==
            std::string(static_cast<std::size_t>(number * number * 40), static_cast<char>('a' + number % 26)));
      REQUIRE(frame->descriptors.size() == static_cast<std::size_t>(number % 3));
      for (const UnforkedDescriptor& each : frame->descriptors) CHECK(::fcntl(each.get(), F_GETFD) == FD_CLOEXEC);
      ++number;
    }
  }
  ::close(file);
}

TEST_CASE("a frame that is too long, or lacks its descriptors, ends the connection") {
  for (const std::vector<std::uint32_t>& head :
       {std::vector<std::uint32_t>{5, 0xFFFFFFFF, 0, 0}, {5, 0, 1, 0}, {5, 0, 0xFFFF, 0}, {5, 0, 0, 1}}) {
    Pair pair;
    Connection receives(pair.end(1));
    REQUIRE(::write(pair.ends[0], head.data(), 16) == 16);
    receives.receive();
    CHECK(!receives.next());
    CHECK(receives.gone());
    ::close(pair.ends[0]);
  }
}

TEST_CASE("a note gives the batch back") {
  Noted noted;
  const std::string note = note_of(noted.record);
  NotedBatch batch;
  WireReader from(note);
  sharing::read_batch(from, noted.outputs, 4, {.seed = 9, .epoch = 2, .batch = 5}, batch);
  CHECK(batch.seed == 9);
  CHECK(batch.number == 5);
  CHECK(batch.samples == noted.record.samples);
  CHECK(batch.fields[0].values.shape == Shape{2, 3});
  CHECK(batch.places[0].offset == 256);
  CHECK(batch.mix->box == noted.record.mix->box);
  CHECK(batch.bad[0].cause == "c");
  CHECK(batch.bad[0].position == 7);
}

TEST_CASE("a note that was cut or changed is refused or read, and nothing else happens") {
  Noted noted;
  const std::string note = note_of(noted.record);
  const auto read = [&](const std::string& bytes) {
    NotedBatch batch;
    WireReader from(bytes);
    sharing::read_batch(from, noted.outputs, 4, {}, batch);
    for (const Field& field : batch.fields) CHECK(field.values.bytes() < std::uint64_t{1} << 47U);
  };
  for (std::size_t length = 0; length < note.size(); ++length) CHECK_THROWS_AS(read(note.substr(0, length)), Error);
  CHECK_THROWS_AS(read(note + "x"), Error);
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string changed = note;
    for (int bytes = 1 + i % 3; bytes != 0; --bytes)
      changed[random() % changed.size()] = static_cast<char>(random() % (i % 2 == 0 ? 256 : 4));
    try {
      read(changed);
    } catch (const Error&) {
    }
  }
}

TEST_CASE("a position with numbers that no loader writes is refused") {
  Position position;
  position.composed.batch_size = 7;
  const std::string good = sharing::key_of(position);
  const auto read = [](const std::string& body) {
    WireReader from(body);
    return sharing::key_of(sharing::read_position(from));
  };
  CHECK(read(good) == good);
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    CAPTURE(byte);
    std::string changed = good;
    changed[byte] = static_cast<char>(changed[byte] ^ 0x40);
    try {
      const std::string again = read(changed);
      CHECK(again == changed);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::corrupt);
    }
  }
}

TEST_CASE("a position is the same after it was sent, and keys of different positions differ") {
  const Position position{.seed = 1,
                          .shuffle_block = 2,
                          .epoch = 3,
                          .start = 4,
                          .batch = 5,
                          .carried = {},
                          .composed = {.batch_size = 6, .world = 7, .budget = 0.5}};
  WireWriter to;
  sharing::write(to, position);
  const std::string body = to.take();
  WireReader from(body);
  CHECK(sharing::key_of(sharing::read_position(from)) == sharing::key_of(position));
  Position other = position;
  other.start = 5;
  CHECK(sharing::key_of(other) != sharing::key_of(position));
}

}  // namespace penstock::test::wire_test
