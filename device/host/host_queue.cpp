#include <system_error>
#include <utility>

#include <pthread.h>

#include <device/host/host_queue.hpp>
#include <penstock/error.hpp>

namespace penstock {

HostQueue::HostQueue() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    throw Error::resource(std::string("cannot start the thread penstock-host-q: ") + error.code().message());
  }
}

HostQueue::~HostQueue() {
  close();
  thread_.join();
}

void HostQueue::push(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    work_.push_back(std::move(work));
    ++pushed_;
  }
  arrived_.notify_one();
}

void HostQueue::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_one();
}

void HostQueue::drain() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this, all = pushed_] { return finished_ >= all; });
}

void HostQueue::run() {
  pthread_setname_np(pthread_self(), "penstock-host-q");
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [this] { return closed_ || !work_.empty(); });
    if (work_.empty()) return;
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    lock.lock();
    ++finished_;
    done_.notify_all();
  }
}

void HostMark::reach(std::string failure) {
  {
    const std::scoped_lock lock(mutex_);
    reached_ = true;
    failure_ = std::move(failure);
    when_ = std::chrono::steady_clock::now();
  }
  changed_.notify_all();
}

bool HostMark::reached() const {
  const std::scoped_lock lock(mutex_);
  return reached_;
}

std::string HostMark::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reached_; });
  return failure_;
}

std::chrono::steady_clock::time_point HostMark::when() const {
  const std::scoped_lock lock(mutex_);
  return when_;
}

}  // namespace penstock
