#include <algorithm>
#include <utility>

#include <bench/watch/top_json.hpp>
#include <bench/web/history.hpp>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of(const WatchedLoader& loader) {
  return std::to_string(loader.user) + "/" + live_name(loader.view.page);
}

void push(std::deque<double>& points, double value) {
  if (points.size() == WatchHistory::kPoints) points.pop_front();
  points.push_back(value);
}

}  // namespace

void WatchHistory::add(Look look, std::chrono::system_clock::time_point now) {
  const double time = std::chrono::duration<double>(now.time_since_epoch()).count();
  if (last_) {
    Json json = top_object(*last_, look);
    std::map<Name, Points> points;
    std::map<Name, Json> running;
    for (std::size_t i = 0; i < look.watched.loaders.size(); ++i) {
      const Name name = name_of(look.watched.loaders[i]);
      Json& loader = json["loaders"][i];
      running[name] = loader;
      Points& own = points[name] = std::move(points_[name]);
      push(own.samples_per_s, loader["samples_per_s"]);
      push(own.data_wait, loader["data_wait"]);
      loader["history"] = {{"samples_per_s", own.samples_per_s}, {"data_wait", own.data_wait}};
    }
    points_ = std::move(points);
    remember_ended(std::move(running), time);
    json["ended"] = Json::array();
    for (const auto& [name, loader] : ended_) json["ended"].push_back(loader);
    json["time"] = time;
    json["looks"] = ++looks_;
    json_ = std::move(json);
  }
  last_ = std::move(look);
}

// A page that is written to while it is read is missing from one look. Its loader is running again in the next one.
void WatchHistory::remember_ended(std::map<Name, Json> running, double time) {
  std::erase_if(ended_, [&](const auto& entry) { return running.contains(entry.first); });
  for (auto& [name, loader] : running_) {
    if (running.contains(name)) continue;
    loader["ended_at"] = time;
    ended_.emplace_front(name, std::move(loader));
  }
  if (ended_.size() > kEnded) ended_.resize(kEnded);
  running_ = std::move(running);
}

}  // namespace penstock
