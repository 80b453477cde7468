// Counters in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include <penstock/stats.hpp>

namespace penstock {

/// The counters of a group by their names; times in seconds.
inline nlohmann::ordered_json counters_json(std::string_view group, const Counts& counts) {
  nlohmann::ordered_json json;
  each_counter(group, [&](const Counter& counter) {
    const std::uint64_t value = counter.get(counts);
    if (counter.unit == Counter::Unit::time)
      json[counter.name] = static_cast<double>(value) / 1e9;
    else
      json[counter.name] = value;
  });
  return json;
}

}  // namespace penstock
