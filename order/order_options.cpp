#include <penstock/order.hpp>

namespace penstock {

std::string_view name(Last last) {
  constexpr std::string_view kNames[]{"keep", "drop", "pad"};
  return kNames[static_cast<std::size_t>(last)];
}

}  // namespace penstock
