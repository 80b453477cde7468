// Decodes clouds for tests of cloud codecs: a value as a whole, or some points of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock::test {

struct DecodedCloud {
  CloudHeader header;
  std::vector<float> xyz = {};
  std::map<std::string, std::vector<std::byte>> attributes = {};

  template <class T>
  std::vector<T> values(const std::string& name) const {
    const std::vector<std::byte>& bytes = attributes.at(name);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  /// Coordinates as the file has them.
  std::vector<double> world() const {
    std::vector<double> world(xyz.begin(), xyz.end());
    for (std::size_t i = 0; i < world.size(); ++i) world[i] += header.origin[i % 3];
    return world;
  }
};

inline std::vector<std::string> attribute_names(const CloudHeader& header) {
  std::vector<std::string> names;
  for (const PointAttribute& attribute : header.attributes) names.push_back(attribute.name);
  return names;
}

/// Everything; with `attributes` false, the coordinates alone.
inline DecodedCloud decode_cloud(CloudDecoder& decoder, const FieldBytes& field, const PointChoice& choice = {},
                                 bool attributes = true) {
  DecodedCloud cloud{.header = decoder.open(field)};
  const std::uint64_t count = choice.count(cloud.header.points);
  cloud.xyz.resize(3 * count);
  decoder.coordinates(field, choice, cloud.xyz.data());
  for (std::size_t i = 0; attributes && i < cloud.header.attributes.size(); ++i) {
    const PointAttribute& attribute = cloud.header.attributes[i];
    std::vector<std::byte> values(count * size_of(attribute.dtype));
    decoder.attribute(field, choice, i, values.data());
    cloud.attributes[attribute.name] = std::move(values);
  }
  return cloud;
}

/// A decoder that was told of every attribute the value has, and the value decoded with it.
inline DecodedCloud decode_cloud(const CloudCodec& codec, const FieldBytes& field, const PointChoice& choice = {}) {
  const auto names = attribute_names(codec.cloud_decoder({})->open(field));
  return decode_cloud(*codec.cloud_decoder({.attributes = names}), field, choice);
}

inline DecodedCloud decode_cloud(const CloudCodec& codec, std::span<const std::byte> bytes,
                                 const PointChoice& choice = {}) {
  const FieldSchema schema{.name = "cloud", .codec = std::string(codec.name())};
  return decode_cloud(codec, FieldBytes{.schema = &schema, .bytes = bytes}, choice);
}

/// Of a whole decoded cloud, the points with these numbers.
inline DecodedCloud chosen(const DecodedCloud& whole, std::span<const std::uint32_t> numbers) {
  DecodedCloud some{.header = whole.header};
  for (const std::uint32_t number : numbers) {
    some.xyz.insert(some.xyz.end(), whole.xyz.begin() + 3 * number, whole.xyz.begin() + 3 * number + 3);
  }
  for (const PointAttribute& attribute : whole.header.attributes) {
    const std::size_t size = size_of(attribute.dtype);
    const std::vector<std::byte>& all = whole.attributes.at(attribute.name);
    std::vector<std::byte>& some_values = some.attributes[attribute.name];
    for (const std::uint32_t number : numbers) {
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(number * size);
      some_values.insert(some_values.end(), at, at + static_cast<std::ptrdiff_t>(size));
    }
  }
  return some;
}

/// As bytes, so that a NaN equals itself.
inline bool same(const DecodedCloud& a, const DecodedCloud& b) {
  return a.xyz.size() == b.xyz.size() && a.attributes == b.attributes &&
         (a.xyz.empty() || std::memcmp(a.xyz.data(), b.xyz.data(), a.xyz.size() * sizeof(float)) == 0);
}

/// `count` different numbers below `points`, rising.
inline std::vector<std::uint32_t> some_numbers(std::uint64_t points, std::size_t count, unsigned seed) {
  std::vector<std::uint32_t> all(points), some;
  std::iota(all.begin(), all.end(), 0U);
  std::mt19937 random(seed);
  std::sample(all.begin(), all.end(), std::back_inserter(some), count, random);
  return some;
}

/// Kind and cause of the Error that decoding ends in: "corrupt: las: ..."; "" where it does not.
inline std::string refusal(const CloudCodec& codec, std::span<const std::byte> bytes) {
  try {
    decode_cloud(codec, bytes);
  } catch (const Error& error) {
    return std::string(name(error.kind())) + ": " + error.cause();
  }
  return "";
}

/// Against the lowest place of each axis that another reader found, as "[x,y,z]" or "(x, y, z)" without the bracket.
inline void check_lower_corner(const DecodedCloud& cloud, const std::string& stated_corner) {
  std::istringstream bounds(stated_corner);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double lowest = std::numeric_limits<double>::infinity(), stated = 0;
    for (std::size_t i = axis; i < cloud.xyz.size(); i += 3) lowest = std::min<double>(lowest, cloud.xyz[i]);
    bounds >> stated;
    bounds.ignore();
    CHECK(std::abs(lowest + cloud.header.origin[axis] - stated) <= 1e-4 + 1e-7 * std::abs(lowest));
  }
}

/// True where the bytes decode; an Error must be a data fault, and any other exception fails the test.
inline bool decodes_or_refuses(const CloudCodec& codec, std::span<const std::byte> bytes) {
  try {
    codec.header(bytes);
    decode_cloud(codec, bytes);
    return true;
  } catch (const Error& error) {
    CHECK_MESSAGE(error.is_data_fault(), error.what());
  } catch (const std::exception& other) {
    FAIL_CHECK("not an Error: " << other.what());
  }
  return false;
}

/// Cuts the bytes at every length and flips bits in them; `rounds` flips, each in a copy that ends where it ends.
inline void survive_damage(const CloudCodec& codec, std::span<const std::byte> bytes, int rounds) {
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    decodes_or_refuses(codec, cut);
  }
  std::mt19937 random(20261121);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    std::vector<std::byte> changed(bytes.begin(), bytes.end());
    for (int i = 0; i <= round % 3; ++i) {
      std::byte& at =
          changed[random() % (round % 2 == 0 ? changed.size() : std::min<std::size_t>(changed.size(), 600))];
      at = round % 5 == 0   ? std::byte{0xFF}
           : round % 5 == 1 ? std::byte{}
                            : at ^ static_cast<std::byte>(1U << random() % 8);
    }
    decodes_or_refuses(codec, changed);
  }
}

}  // namespace penstock::test
