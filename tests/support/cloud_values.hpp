// Clouds decoded in one go, and by chosen points as a loader does it; broken ones.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <transforms/clouds/codecs/cloud.hpp>

#include "support/clouds.hpp"

namespace penstock::test {

inline std::span<const std::byte> as_value(const std::string& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

inline DecodedCloud decode_cloud(const CloudCodec& codec, const std::string& bytes) {
  return decode_cloud(codec, as_value(bytes));
}

/// The cause of the data fault that decoding ends in; "" where it does not. Anything else fails the test.
inline std::string fault_of(const CloudCodec& codec, const std::string& bytes) {
  try {
    decode_cloud(codec, bytes);
  } catch (const Error& error) {
    CHECK_MESSAGE(error.is_data_fault(), error.what());
    return error.cause();
  }
  return "";
}

/// Chosen points come out alike from all bytes and, where select_points() names some, from these alone.
inline void check_choice(const CloudCodec& codec, const std::string& bytes, const std::vector<std::uint32_t>& numbers,
                         bool by_ranges) {
  const FieldSchema schema{.name = std::string(codec.name()), .codec = std::string(codec.name())};
  const DecodedCloud all = decode_cloud(codec, bytes);
  const PointChoice choice{.all = false, .numbers = numbers};
  std::vector<DecodedCloud> some{decode_cloud(codec, FieldBytes{.schema = &schema, .bytes = as_value(bytes)}, choice)};
  const auto kept = codec.header(as_value(bytes));
  const FieldHeader header{.schema = &schema, .header = kept, .length = bytes.size()};
  std::vector<ByteRange> ranges;
  REQUIRE(codec.select_points(header, numbers, ranges) == by_ranges);
  if (by_ranges) {
    std::string read;
    for (const ByteRange& range : ranges) read += bytes.substr(range.begin, range.end - range.begin);
    some.push_back(
        decode_cloud(codec, FieldBytes{.schema = &schema, .bytes = as_value(read), .ranges = ranges}, choice));
    const std::optional<CloudHeader> told = codec.cloud(header);
    REQUIRE(told);
    CHECK(told->points == all.header.points);
    CHECK(told->origin == all.header.origin);
    CHECK(told->attributes == all.header.attributes);
  }
  for (const DecodedCloud& cloud : some) {
    CHECK(cloud.header.origin == all.header.origin);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      CHECK(std::memcmp(&cloud.xyz[3 * i], &all.xyz[3 * numbers[i]], 12) == 0);
      for (const PointAttribute& attribute : all.header.attributes) {
        const std::size_t size = size_of(attribute.dtype);
        CHECK(std::memcmp(&cloud.attributes.at(attribute.name)[size * i],
                          &all.attributes.at(attribute.name)[size * numbers[i]], size) == 0);
      }
    }
  }
}

/// Cuts at every length, flips bits, and random bytes behind `magic`: each ends in values or in a data fault. What must
/// not happen besides is for a sanitizer to say.
inline void survive(const CloudCodec& codec, const std::string& bytes, const std::string& magic) {
  const auto decode = [&](const std::string& broken) {
    const std::string cause = fault_of(codec, broken);
    CHECK(cause.find('\n') == std::string::npos);
    const auto kept = codec.header(as_value(broken));
    const FieldSchema schema{.name = "cloud", .codec = std::string(codec.name())};
    const FieldHeader header{.schema = &schema, .header = kept, .length = broken.size()};
    std::vector<ByteRange> ranges;
    const std::vector<std::uint32_t> numbers{0};
    try {
      if (codec.cloud(header)) codec.select_points(header, numbers, ranges);
    } catch (const Error& error) {
      CHECK(error.is_data_fault());
    }
  };
  for (std::size_t length = 0; length < bytes.size(); ++length) decode(bytes.substr(0, length));
  std::mt19937 random(20261121);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = bytes;
    for (int i = 0; i <= round % 3; ++i) {
      char& byte = changed[random() % changed.size()];
      byte = round % 4 == 0 ? static_cast<char>(random()) : static_cast<char>(byte ^ (1 << random() % 8));
    }
    decode(changed);
  }
  for (int round = 0; round < 500; ++round) {
    std::string garbage = magic;
    for (std::size_t i = random() % 400; i > 0; --i)
      garbage += round % 2 == 0 ? static_cast<char>(random()) : " \n0123456789.-+eE#,;"[random() % 20];
    decode(garbage);
  }
}

}  // namespace penstock::test
