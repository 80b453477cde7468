// A cache of the most recently used values, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

namespace penstock {

/// Keeps up to `capacity` values, and drops the least recently used one. Values are shared, so a value in use outlives
/// its place here. Not thread-safe.
template <typename Value>
class LruCache {
 public:
  explicit LruCache(std::size_t capacity) : capacity_(capacity) {}

  std::shared_ptr<const Value> find(std::uint32_t number) {
    const auto found = places_.find(number);
    if (found == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }

  /// Keeps `value`, and replaces an earlier one. Returns the dropped value, so that the caller can destroy it outside
  /// of its lock.
  std::shared_ptr<const Value> keep(std::uint32_t number, std::shared_ptr<const Value> value) {
    if (const auto found = places_.find(number); found != places_.end()) {
      std::swap(found->second->second, value);
      return value;
    }
    order_.emplace_front(number, std::move(value));
    places_.emplace(number, order_.begin());
    if (order_.size() <= capacity_) return nullptr;
    std::shared_ptr<const Value> oldest = std::move(order_.back().second);
    places_.erase(order_.back().first);
    order_.pop_back();
    return oldest;
  }

 private:
  using Order = std::list<std::pair<std::uint32_t, std::shared_ptr<const Value>>>;
  std::size_t capacity_;
  Order order_;
  std::unordered_map<std::uint32_t, typename Order::iterator> places_;
};

}  // namespace penstock
