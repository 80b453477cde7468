#include <memory>
#include <utility>

#include <base/serial_executor.hpp>

namespace penstock {

std::future<void> SerialExecutor::begin(std::function<void()> work) {
  const auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
  thread_ = Thread(name_, [task](const std::stop_token&) { (*task)(); });
  return task->get_future();
}

}  // namespace penstock
