#include <condition_variable>
#include <mutex>
#include <utility>

#include <pthread.h>

#include <penstock/loader/thread.hpp>

namespace penstock {

struct Thread::End {
  std::mutex mutex;  // guards reached
  std::condition_variable changed;
  bool reached = false;
};

Thread::Thread(const std::string& name, std::function<void(std::stop_token)> body)
    : stop_(), end_(std::make_shared<End>()) {
  thread_ = std::thread([name, body = std::move(body), stop = stop_.get_token(), end = end_]() mutable {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    body(std::move(stop));
    body = nullptr;  // what it owns ends before the end is announced
    const std::lock_guard lock(end->mutex);
    end->reached = true;
    end->changed.notify_all();
  });
}

Thread::~Thread() {
  join();
}

Thread& Thread::operator=(Thread&& other) noexcept {
  join();
  stop_ = std::move(other.stop_);
  end_ = std::move(other.end_);
  thread_ = std::move(other.thread_);
  return *this;
}

void Thread::request_stop() {
  stop_.request_stop();
}

void Thread::join() {
  if (!thread_.joinable()) return;
  stop_.request_stop();
  thread_.join();
}

bool Thread::join_for(std::chrono::milliseconds grace) {
  if (!thread_.joinable()) return true;
  stop_.request_stop();
  std::unique_lock lock(end_->mutex);
  const bool reached = end_->changed.wait_for(lock, grace, [this] { return end_->reached; });
  lock.unlock();
  if (reached)
    thread_.join();
  else
    thread_.detach();
  return reached;
}

}  // namespace penstock
