#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include <pthread.h>

#include <base/caught.hpp>
#include <base/thread.hpp>

namespace penstock {

namespace {

std::thread begun(const std::string& name, std::function<void()> body) {
  try {
    if (const auto hook = before_thread.load(std::memory_order_relaxed)) hook(name);
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw Error::resource("cannot start the thread " + name + ": " + error.code().message());
  }
}

}  // namespace

struct Thread::End {
  std::mutex mutex;  // guards reached
  std::condition_variable changed;
  bool reached = false;

  void reach() {
    const std::lock_guard lock(mutex);
    reached = true;
    changed.notify_all();
  }
};

Thread::Thread(const std::string& name, std::function<void(std::stop_token)> body, Failed failed)
    : stop_(), end_(std::make_shared<End>()) {
  /// Destroys the state of the thread, then announces the end, even if the thread is ended from within.
  struct Run {
    std::function<void(std::stop_token)> body;
    Failed failed;
    std::shared_ptr<End> end;
    ~Run() {
      body = nullptr;
      failed = nullptr;
      end->reach();
    }
  };
  const std::shared_ptr<Run> run(new Run{.body = std::move(body), .failed = std::move(failed), .end = end_});
  thread_ = begun(name, [name, run, stop = stop_.get_token()] {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    const std::exception_ptr failure = caught([&] { run->body(stop); });
    if (failure != nullptr && run->failed) caught([&] { run->failed(failure); });
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

void start_threads(std::vector<Thread>& threads, const std::string& name, unsigned count,
                   const std::function<void(unsigned, const std::stop_token&)>& body, const Thread::Failed& failed) {
  const auto first = static_cast<unsigned>(threads.size());
  threads.reserve(first + count);
  for (unsigned number = first; number < first + count; ++number) {
    try {
      threads.emplace_back(
          name + std::to_string(number), [body, number](const std::stop_token& stop) { body(number, stop); }, failed);
    } catch (const Error& error) {
      for (std::size_t added = first; added < threads.size(); ++added) threads[added].request_stop();
      throw Error::resource(error.cause() + " (" + std::to_string(number) + " of " + std::to_string(first + count) +
                                " such threads had been started)",
                            error.context());
    }
  }
}

}  // namespace penstock
