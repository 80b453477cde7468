#include <penstock/order.hpp>

namespace penstock {

std::string_view name(Last last) {
  constexpr std::string_view kNames[]{"keep", "drop", "pad"};
  return kNames[static_cast<std::size_t>(last)];
}

std::string_view name(Missing missing) {
  constexpr std::string_view kNames[]{"raise", "exclude", "empty"};
  return kNames[static_cast<std::size_t>(missing)];
}

}  // namespace penstock
