#include <mutex>
#include <utility>
#include <vector>

#include <penstock/loader/leave_behind.hpp>

namespace penstock {

void leave_behind(std::shared_ptr<void> state) {
  static std::mutex mutex;  // guards left
  static std::vector<std::shared_ptr<void>> left;
  const std::scoped_lock lock(mutex);
  left.push_back(std::move(state));
}

}  // namespace penstock
