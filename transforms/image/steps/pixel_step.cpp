#include <algorithm>
#include <cmath>
#include <cstdio>

#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

bool StepDraw::happens(double probability, const char* what) {
  const double drawn = random.uniform();
  const bool yes = drawn < probability;
  tell([&] { return (yes ? what : std::string("not ") + what) + ": drew " + short_text(drawn); });
  return yes;
}

std::int64_t whole_number_near(double value) {
  return static_cast<std::int64_t>(std::nearbyint(value));
}

std::array<std::uint8_t, 4> fill_of(const Fill& fill) {
  std::array<std::uint8_t, 4> bytes{};
  for (std::size_t c = 0; c < bytes.size() && !fill.empty(); ++c)
    bytes[c] = static_cast<std::uint8_t>(fill[std::min(c, fill.size() - 1)]);
  return bytes;
}

std::string short_text(double value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.6g", value);
  return digits.data();
}

std::string short_text(Size size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

std::string short_text(const Region& region) {
  return short_text(Size{region.width, region.height}) + " at x " + std::to_string(region.x) + ", y " +
         std::to_string(region.y);
}

}  // namespace penstock
