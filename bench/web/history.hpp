// The last minutes of all loaders of a machine, for the live page.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <bench/watch/top.hpp>

namespace penstock {

class WatchHistory {
 public:
  static constexpr std::size_t kPoints = 120;  ///< kept of each loader
  static constexpr std::size_t kEnded = 16;    ///< loaders that are remembered after their end

  /// Adds the newest look. `now` is for readers, and may jump.
  void add(Look look, std::chrono::system_clock::time_point now);
  /// top_object() of the last two looks, with "time", "looks" and, for each loader, its "history". "ended" lists the
  /// loaders that have ended, newest first. Before the second look, null.
  const nlohmann::ordered_json& json() const { return json_; }

 private:
  struct Points {
    std::deque<double> samples_per_s, data_wait;
  };
  using Name = std::string;  // of a loader among all users
  void remember_ended(std::map<Name, nlohmann::ordered_json> running, double time);

  std::optional<Look> last_;
  std::uint64_t looks_ = 0;
  std::map<Name, Points> points_;                   // of the running loaders
  std::map<Name, nlohmann::ordered_json> running_;  // their last numbers
  std::deque<std::pair<Name, nlohmann::ordered_json>> ended_;
  nlohmann::ordered_json json_;
};

}  // namespace penstock
