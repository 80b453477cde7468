#include <penstock/options.hpp>

namespace penstock {

std::string_view name(Behind policy) {
  return policy == Behind::wait ? "wait" : "build";
}

std::string_view name(OnError policy) {
  constexpr std::string_view kNames[]{"raise", "replace", "mark"};
  return kNames[static_cast<std::size_t>(policy)];
}

std::string_view name(FinishOn place) {
  constexpr std::string_view kNames[]{"auto", "host", "device"};
  return kNames[static_cast<std::size_t>(place)];
}

}  // namespace penstock
