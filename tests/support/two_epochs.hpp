// Runs two epochs and checks what every stage behind the workers must report.
#pragma once

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include <penstock/loader.hpp>

namespace penstock::test {

inline double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// The stats of two epochs after a first batch. Checks that the last stage is `last`, and that the waits of the
/// consumer add up.
inline Stats stats_of_two_epochs(Loader& loader, const std::string& last) {
  loader.next();
  loader.reset_stats();
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (loader.next()) {
    }
  }
  Stats stats = loader.stats();
  CHECK(stats.stages.back().name == last);
  CHECK(stats.data_wait_by_stage.back().first == last);
  std::chrono::nanoseconds sum{};
  for (const auto& [name, time] : stats.data_wait_by_stage) sum += time;
  CHECK(seconds(sum) == doctest::Approx(seconds(stats.data_wait)).epsilon(0.001));
  return stats;
}

}  // namespace penstock::test
