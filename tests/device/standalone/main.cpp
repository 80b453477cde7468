#include <doctest/doctest.h>

int main() {
  for (const standalone::Case& each : standalone::cases()) {
    try {
      each.run();
    } catch (const std::exception& error) {
      standalone::check(false, each.name, 0, error.what());
    }
  }
  std::cout << standalone::cases().size() << " cases, " << standalone::failures() << " failures\n";
  return standalone::failures() == 0 ? 0 : 1;
}
