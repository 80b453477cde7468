#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <doctest/doctest.h>

#include <base/handled_error.hpp>
#include <penstock/error.hpp>

namespace penstock::test::error_test {

TEST_CASE("what() names every known part of the context on one line, and skips the others") {
  const Error error = Error::corrupt("bad magic", {.shard = "a.tar", .key = "cat/1", .field = "jpg", .offset = 512});
  CHECK(std::string(error.what()) == "a.tar: sample cat/1: field jpg: offset 512: corrupt: bad magic");
  CHECK(std::string(Error::shape("too wide").what()) == "shape: too wide");
}

TEST_CASE("what() and cause() are one line of UTF-8, whatever bytes a file's names have; the context keeps them") {
  const Error error = Error::corrupt("bad \nname \xFF\x7F \xC3\xA9", {.key = "a\tb"});
  CHECK(error.cause() == "bad \\x0aname \\xff\\x7f \xC3\xA9");
  CHECK(std::string(error.what()) == "sample a\\x09b: corrupt: bad \\x0aname \\xff\\x7f \xC3\xA9");
  CHECK(error.context().key == "a\tb");
  CHECK(error.in({.field = "jpg"}).cause() == error.cause());
}

TEST_CASE("an outer context fills only what the error does not know yet") {
  const Error error = Error::corrupt("bad", {.key = "inner"}).in({.dataset = "train", .key = "outer"});
  CHECK(error.context().key == "inner");
  CHECK(error.context().dataset == "train");
  CHECK(error.kind() == ErrorKind::corrupt);
}

TEST_CASE("only faults of a sample's bytes are data faults") {
  CHECK(Error::corrupt("x").is_data_fault());
  CHECK(Error::shape("x").is_data_fault());
  CHECK(Error::unsupported("x").is_data_fault());
  CHECK_FALSE(Error::io(5, "x").is_data_fault());
  CHECK_FALSE(Error::resource("x").is_data_fault());
  CHECK_FALSE(Error::invalid_argument("x").is_data_fault());
}

namespace {

// handled_error() of what is thrown.
template <typename Thrown>
Error handled(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return penstock::handled_error({.dataset = "train", .shard = "a.h5"});
  }
}

}  // namespace

TEST_CASE("whatever is thrown becomes one line that names dataset and file") {
  const Error known = handled(Error::corrupt("bad", {.shard = "b.h5", .key = "7"}));
  CHECK(std::string(known.what()) == "train: b.h5: sample 7: corrupt: bad");
  CHECK(std::string(handled(std::bad_alloc()).what()) == "train: a.h5: resource: there is not enough memory");
  const Error system = handled(std::system_error(EIO, std::generic_category(), "reading"));
  CHECK(system.kind() == ErrorKind::io);
  CHECK(system.cause() == "reading: Input/output error");
  const Error unknown = handled(std::out_of_range("vector::_M_range_check"));
  CHECK(unknown.kind() == ErrorKind::resource);
  CHECK(unknown.cause() == "an unexpected failure: vector::_M_range_check");
  CHECK(std::string(handled(7).what()) == "train: a.h5: resource: an exception of an unknown type");
}

TEST_CASE("what() says no path twice") {
  const auto text = [](std::string cause, penstock::ErrorContext context) {
    return std::string(Error::corrupt(std::move(cause), std::move(context)).what());
  };
  CHECK(text("bad", {.dataset = "/data/a.tar", .shard = "a.tar", .key = "7"}) == "/data/a.tar: sample 7: corrupt: bad");
  CHECK(text("bad", {.dataset = "a.tar", .shard = "a.tar"}) == "a.tar: corrupt: bad");
  CHECK(text("bad", {.dataset = "/data/photos/", .shard = "photos"}) == "/data/photos/: corrupt: bad");
  CHECK(text("bad", {.dataset = "/data", .shard = "a.tar"}) == "/data: a.tar: corrupt: bad");
  CHECK(text("bad", {.dataset = ".", .shard = ".", .key = "7"}) == "sample 7: corrupt: bad");
  CHECK(text("cannot open /data/a.jpg", {.dataset = "/data", .key = "a"}) ==
        "sample a: corrupt: cannot open /data/a.jpg");
}

}  // namespace penstock::test::error_test
