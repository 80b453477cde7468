#include <string>

#include <doctest/doctest.h>

#include <penstock/formats/error.hpp>

using penstock::Error;
using penstock::ErrorKind;

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
