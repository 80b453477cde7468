#include <array>
#include <cstdio>

#include <penstock/transforms/image/steps/short_text.hpp>

namespace penstock {

std::string short_text(double value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.6g", value);
  return digits.data();
}

}  // namespace penstock
