#include "campaign/values.hpp"

#include <random>
#include <vector>

#include "support/encoded.hpp"
#include "support/las_files.hpp"

namespace penstock::campaign {
namespace {

std::string text_of(const test::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string array_value(std::uint32_t number) {
  const std::int64_t rows = number % 4 == 0 ? 40 : 5;
  std::mt19937 random(number);
  std::vector<std::int16_t> values(static_cast<std::size_t>(rows) * 1024);
  for (std::int16_t& value : values) value = static_cast<std::int16_t>(random());
  return text_of(test::npy("<i2", {rows, 1024}, test::to_bytes(values)));
}

std::string cloud_value(std::uint32_t number) {
  return text_of(test::las_file({.format = number % 4, .points = 50 + number}));
}

}  // namespace penstock::campaign
