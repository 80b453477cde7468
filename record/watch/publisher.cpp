#include <ctime>

#include <unistd.h>

#include <penstock/error.hpp>
#include <record/watch/publisher.hpp>

namespace penstock {

void Publisher::open() {
  page_ = std::make_unique<LivePage>(live_folder(::geteuid()));
}

nanoseconds Publisher::thread_time() {
  std::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

void Publisher::give_up(const std::exception_ptr& failure) noexcept {
  on_ = false;
  page_.reset();
  const std::scoped_lock lock(mutex_);
  failure_ = failure;
}

std::string Publisher::note() const {
  const std::scoped_lock lock(mutex_);
  if (!failure_) return {};
  try {
    std::rethrow_exception(failure_);
  } catch (const Error& error) {
    return "penstock top cannot show this loader: " + error.cause();
  } catch (...) {
    return "penstock top cannot show this loader";
  }
}

}  // namespace penstock
