#include <algorithm>
#include <array>
#include <cmath>

#include <bench/measure/mlperf.hpp>
#include <bench/measure/units.hpp>

namespace penstock {
namespace {

using namespace std::chrono_literals;

constexpr std::array<EmulatedAccelerator, 6> kAccelerators{{{"resnet50-h100", 400, 224ms, 0.90},
                                                            {"resnet50-a100", 400, 435ms, 0.90},
                                                            {"unet3d-h100", 7, 323ms, 0.90},
                                                            {"unet3d-a100", 7, 636ms, 0.90},
                                                            {"cosmoflow-h100", 1, 3500us, 0.70},
                                                            {"cosmoflow-a100", 1, 5510us, 0.70}}};

}  // namespace

std::uint64_t EmulatedAccelerator::fed_by(double samples_per_s) const {
  const double count = samples_per_s / least_samples_per_s();
  constexpr double kMost = 1e15, kRounding = 1e-9;  // tolerates rounding: exactly the rate for N counts as enough for N
  return count > 0 ? static_cast<std::uint64_t>(std::floor(std::min(count, kMost) * (1 + kRounding))) : 0;
}

std::string EmulatedAccelerator::summary() const {
  std::string milliseconds = fixed(std::chrono::duration<double, std::milli>(step).count(), 2);
  milliseconds.erase(milliseconds.find_last_not_of('0') + 1);
  if (milliseconds.back() == '.') milliseconds.pop_back();
  return std::to_string(batch_size) + (batch_size == 1 ? " sample" : " samples") + " in " + milliseconds +
         " ms, required utilisation " + fixed(100 * least_utilisation, 0) + " %";
}

std::span<const EmulatedAccelerator> emulated_accelerators() {
  return kAccelerators;
}

const EmulatedAccelerator* emulated_accelerator(std::string_view name) {
  const auto found = std::ranges::find(kAccelerators, name, &EmulatedAccelerator::name);
  return found == kAccelerators.end() ? nullptr : &*found;
}

double accelerator_utilisation(std::uint64_t batches, std::chrono::nanoseconds step, double seconds) {
  return seconds > 0 ? static_cast<double>(batches) * std::chrono::duration<double>(step).count() / seconds : 0;
}

}  // namespace penstock
