#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <base/leak_until_exit.hpp>

namespace penstock {

void leak_until_exit(std::shared_ptr<void> state) {
  static std::mutex mutex;  // guards left
  static std::vector<std::shared_ptr<void>> left;
  const std::scoped_lock lock(mutex);
  try {
    left.push_back(std::move(state));
  } catch (const std::bad_alloc&) {
    // No memory to store it, so its last owner is an object that is never destroyed.
    union Forever {
      explicit Forever(std::shared_ptr<void> last) : state(std::move(last)) {}
      ~Forever() {}
      std::shared_ptr<void> state;
    };
    const Forever owner(std::move(state));
  }
}

}  // namespace penstock
