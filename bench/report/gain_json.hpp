// A predicted gain as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <penstock/gains.hpp>

namespace penstock {

inline nlohmann::ordered_json json_of(const Gain& gain) {
  return {{"knob", gain.knob},   {"value", gain.value}, {"samples_per_s", gain.samples_per_s},
          {"ratio", gain.ratio}, {"limit", gain.limit}, {"text", gain.text}};
}

}  // namespace penstock
