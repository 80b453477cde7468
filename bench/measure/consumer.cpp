#include <charconv>
#include <cmath>
#include <thread>

#include <bench/measure/consumer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

[[noreturn]] void refuse_mlperf(std::string_view text) {
  std::string known;
  for (const EmulatedAccelerator& accelerator : emulated_accelerators())
    known += (known.empty() ? "mlperf:" : ", mlperf:") + std::string(accelerator.name);
  throw Error::invalid_argument("'" + std::string(text) + "' is not a consumer; expected " + known);
}

}  // namespace

Consumer Consumer::parse(std::string_view text) {
  if (text == "none") return {};
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view number = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (kind == "mlperf") {
    const EmulatedAccelerator* accelerator = emulated_accelerator(number);
    if (accelerator == nullptr) refuse_mlperf(text);
    return {Kind::sleep, accelerator->step, accelerator};
  }
  double milliseconds = -1;
  const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), milliseconds);
  const bool good = failure == std::errc{} && end == number.data() + number.size() && milliseconds >= 0 &&
                    milliseconds <= 3.6e6 && (kind == "busy" || kind == "sleep");
  if (!good)
    throw Error::invalid_argument("'" + std::string(text) +
                                  "' is not a consumer; expected none, busy:MS, sleep:MS or mlperf:NAME");
  return {kind == "busy" ? Kind::busy : Kind::sleep, std::chrono::nanoseconds(std::llround(milliseconds * 1e6)),
          nullptr};
}

void Consumer::take() const {
  const auto until = std::chrono::steady_clock::now() + step;
  if (kind == Kind::sleep) std::this_thread::sleep_until(until);
  while (kind == Kind::busy && std::chrono::steady_clock::now() < until) {
  }
}

std::string Consumer::name() const {
  if (kind == Kind::none) return "none";
  if (accelerator != nullptr) return "mlperf:" + std::string(accelerator->name);
  std::string number = std::to_string(static_cast<double>(step.count()) / 1e6);
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return (kind == Kind::busy ? "busy:" : "sleep:") + number;
}

}  // namespace penstock
