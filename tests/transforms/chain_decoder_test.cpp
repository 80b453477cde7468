#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/chain.hpp>
#include <penstock/error.hpp>
#include <transforms/program/chain_decoder.hpp>

#include "support/encoded.hpp"

namespace penstock::test::chain_decoder_test {
namespace {

struct Row {
  DType dtype = DType::u8;
  Shape shape;
  Bytes bytes;
  bool operator==(const Row&) const = default;
};

Row decoded(ChainDecoder& decoder, const Bytes& value, std::uint64_t seed) {
  Row row;
  const NamedBytes field{.name = "value", .extension = "", .bytes = value};
  decoder.decode({&field, 1}, {.seed = seed}, [&](std::size_t, DType dtype, const Shape& shape) {
    row = {.dtype = dtype, .shape = shape, .bytes = Bytes(element_count(shape) * size_of(dtype))};
    return std::span(row.bytes);
  });
  return row;
}

}  // namespace

TEST_CASE("threads that share a decoder get the rows of a decoder of their own") {
  const std::vector<Bytes> values{jpeg(picture(40, 30, 3, 1)), png(picture(24, 50, 3, 2)), jpeg(picture(64, 20, 1, 3)),
                                  png(picture(33, 33, 4, 4)), jpeg(picture(20, 60, 3, 5))};
  const std::vector<Chain> chains{image::decode(), image::random_resized_crop(16) | image::random_horizontal_flip(),
                                  image::resize(18)};
  for (const Chain& chain : chains) {
    std::vector<Row> wanted;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ChainDecoder alone({{"value", chain}});
      wanted.push_back(decoded(alone, values[i], i));
    }
    ChainDecoder shared({{"value", chain}});
    std::vector<std::vector<Row>> rows(4);
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < 20; ++i) {
          const std::size_t value = (i * (t + 1) + t) % values.size();
          rows[t].push_back(decoded(shared, values[value], value));
        }
      });
    }
    threads.clear();
    for (std::size_t t = 0; t < rows.size(); ++t) {
      for (std::size_t i = 0; i < rows[t].size(); ++i) {
        CHECK(rows[t][i] == wanted[(i * (t + 1) + t) % values.size()]);
      }
    }
  }
}

TEST_CASE("more kinds of rows than a decoder remembers") {
  ChainDecoder decoder({{"value", array::decode()}});
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t length = 1; length < 400; ++length) {
      const std::vector<float> numbers(static_cast<std::size_t>(length), 1.5F);
      const Row row = decoded(decoder, npy("<f4", {length}, to_bytes(numbers)), 0);
      CHECK(row.dtype == DType::f32);
      CHECK(row.shape == Shape{length});
    }
  }
}

TEST_CASE("a value that fails does not disturb the next one") {
  ChainDecoder decoder({{"value", image::resize(16)}});
  const Bytes good = jpeg(picture(40, 30, 3, 6));
  const Row wanted = decoded(decoder, good, 0);
  for (std::size_t length = 0; length < good.size(); length += 97) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK_THROWS_AS(decoded(decoder, cut, 0), Error);
    CHECK(decoded(decoder, good, 0) == wanted);
  }
}

}  // namespace penstock::test::chain_decoder_test
