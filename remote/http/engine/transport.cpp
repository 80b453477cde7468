#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include <base/caught.hpp>
#include <base/waits/interruption.hpp>
#include <penstock/error.hpp>
#include <remote/http/backoff.hpp>
#include <remote/http/engine/exchange.hpp>
#include <remote/http/engine/loop.hpp>
#include <remote/http/engine/range_caller.hpp>
#include <remote/http/engine/store_counters.hpp>
#include <remote/http/engine/transport_core.hpp>
#include <remote/http/header_values.hpp>
#include <remote/http/notice.hpp>
#include <remote/http/redirect.hpp>
#include <remote/http/retry_after.hpp>

namespace penstock {
namespace {

/// One request whose caller waits for the answer.
class Sent final : public Exchange, public std::enable_shared_from_this<Sent> {
 public:
  Sent(Loop& loop, StoreCounters& counters, HttpRequest request, std::uint64_t most_bytes, bool again);
  Sent(Sent&&) = delete;

  /// Sends the request and waits; gives up after `until`. Calls `waiting` periodically. Throws std::bad_alloc; Error:
  /// resource, "interrupted".
  template <typename Waiting>
  Failure wait(Loop::Clock::time_point until, Waiting&& waiting) {
    std::unique_ptr<Loop::Work> end = give_up();  // made in advance, because memory may run out later
    post();
    bool interrupted = false;
    std::unique_lock lock(mutex_);
    const std::exception_ptr thrown = caught([&] {
      while (!done_ && !interrupted && Loop::Clock::now() < until) {
        changed_.wait_until(lock, std::min(until, Loop::Clock::now() + kBetweenInterruptions), [&] { return done_; });
        if (done_) break;
        lock.unlock();
        waiting();
        interrupted = interruption_asked();
        lock.lock();
      }
    });
    if (!lock.owns_lock()) lock.lock();
    // If the caller owns the body, wait until the loop no longer reads it.
    const bool waits = (!interrupted && thrown == nullptr) || !request_.body.empty();
    const bool given_up = !done_;
    if (given_up) take_back(lock, std::move(end), waits);
    if (thrown != nullptr) std::rethrow_exception(thrown);
    if (given_up && interrupted) throw Error::resource("interrupted");
    return std::move(failure_);
  }
  HttpResponse& response() { return response_; }
  HttpRequest& request() { return request_; }
  bool is_too_long() const { return too_long_; }

 private:
  void post();
  std::unique_ptr<Loop::Work> give_up();
  void take_back(std::unique_lock<std::mutex>& lock, std::unique_ptr<Loop::Work> end, bool waits);
  bool begin(HttpRequest& request) override;
  bool on_head(const HttpResponse& head) override;
  bool on_body(std::span<const std::byte> bytes) override;
  void on_end(Failure failure) override;
  void on_connection() override { counters_.add_connection(); }
  void finish(Failure failure);

  Loop& loop_;
  StoreCounters& counters_;
  HttpRequest request_;
  const std::uint64_t most_bytes_;
  const bool again_;
  HttpResponse response_;
  bool too_long_ = false;
  Loop::Clock::time_point began_{};
  std::mutex mutex_;  // guards done_ and failure_
  std::condition_variable changed_;
  bool done_ = false;
  Failure failure_;
};

Sent::Sent(Loop& loop, StoreCounters& counters, HttpRequest request, std::uint64_t most_bytes, bool again)
    : loop_(loop), counters_(counters), request_(std::move(request)), most_bytes_(most_bytes), again_(again) {}

void Sent::post() {
  if (!loop_.post(loop_work([self = shared_from_this()] { self->loop_.start(*self); })))
    finish({Failure::Kind::unable, "the process is ending"});
}

std::unique_ptr<Loop::Work> Sent::give_up() {
  return loop_work(
      [self = shared_from_this(), failure = Failure{Failure::Kind::broken, "no answer in time"}]() mutable {
        self->loop_.cancel(*self);
        self->finish(std::move(failure));
      });
}

void Sent::take_back(std::unique_lock<std::mutex>& lock, std::unique_ptr<Loop::Work> end, bool waits) {
  lock.unlock();
  if (!loop_.post(std::move(end))) finish({Failure::Kind::unable, "the process is ending"});
  lock.lock();
  if (waits) changed_.wait(lock, [&] { return done_; });
}

void Sent::finish(Failure failure) {
  {
    const std::scoped_lock lock(mutex_);
    if (done_) return;
    failure_ = std::move(failure);
    done_ = true;
    changed_.notify_all();
  }
}

bool Sent::begin(HttpRequest& request) {
  request = request_;
  began_ = Loop::Clock::now();
  counters_.add_request(again_, false);
  return true;
}

bool Sent::on_head(const HttpResponse& head) {
  response_ = head;
  response_.body.clear();
  const auto length = parse_digits(head.header("content-length"));
  if (!length || request_.method == HttpMethod::head) return true;
  too_long_ = *length > most_bytes_;
  if (!too_long_) response_.body.reserve(*length);
  return !too_long_;
}

bool Sent::on_body(std::span<const std::byte> bytes) {
  too_long_ = too_long_ || bytes.size() > most_bytes_ - response_.body.size();
  if (!too_long_) response_.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return !too_long_;
}

void Sent::on_end(Failure failure) {
  counters_.add_bytes(response_.body.size());
  counters_.add_wait(Loop::Clock::now() - began_);
  finish(std::move(failure));
}

constexpr unsigned kMostPreparedAnew = 2, kMostUnreachableSends = 4;

// One send(), from its first request to the last.
class Sending {
 public:
  using Clock = Loop::Clock;

  Sending(Loop& loop, StoreCounters& counters, const Asking& asking)
      : loop_(loop),
        counters_(counters),
        asking_(asking),
        until_(began_ + (asking.deadline.count() != 0 ? asking.deadline : loop.settings().deadline)) {}

  HttpResponse run() {
    while (true) {
      if (asking_.dialect.stale(asking_.address)) asking_.dialect.renew(asking_.address);
      std::shared_ptr<Sent> sent = answered(asking_.prepare());
      if (sent == nullptr) continue;
      HttpResponse& response = sent->response();
      switch (asking_.dialect.meaning(response)) {
        case Meaning::again:
          wait_after(said_by_server(asking_.dialect, response), retry_after(response));
          break;
        case Meaning::anew:
          if (++anew_ > kMostPreparedAnew) return std::move(response);
          asking_.dialect.learn(asking_.address, response);
          break;
        default:
          return std::move(response);
      }
    }
  }

 private:
  // Follows redirects. Returns null if the request failed; the delay before a retry has then passed.
  std::shared_ptr<Sent> answered(HttpRequest request) {
    for (unsigned redirects = 0;; ++redirects) {
      auto sent = std::make_shared<Sent>(loop_, counters_, std::move(request), asking_.most_bytes, failures_ > 0);
      const Failure failure = sent->wait(until_, [&] { say(); });
      if (sent->is_too_long())
        throw Error::resource("has more than " + std::to_string(asking_.most_bytes) + " bytes", where());
      if (failure.kind != Failure::Kind::none) {
        take(failure);
        return nullptr;
      }
      const bool reads = sent->request().method == HttpMethod::get || sent->request().method == HttpMethod::head;
      if (!reads || asking_.dialect.meaning(sent->response()) != Meaning::elsewhere) return sent;
      if (redirects >= kMostRedirects)
        throw Error(ErrorKind::io, "is redirected more than " + std::to_string(kMostRedirects) + " times", where());
      if (auto problem = redirect(sent->request(), sent->response().header("location")))
        throw Error(ErrorKind::io, *problem, where());
      request = std::move(sent->request());
    }
  }

  void take(const Failure& failure) {
    switch (failure.kind) {
      case Failure::Kind::hopeless:
        throw Error(ErrorKind::io, failure.text, where());
      case Failure::Kind::unable:
        throw Error::resource(failure.text, where());
      case Failure::Kind::unreachable:
        if (++unreachable_ >= kMostUnreachableSends) throw Error(ErrorKind::io, failure.text, where());
        [[fallthrough]];
      default:
        wait_after(failure.text, {});
    }
  }

  void wait_after(std::string failure, std::chrono::milliseconds at_least) {
    last_ = std::move(failure);
    ++failures_;
    const auto next = Clock::now() + std::max(backoff(failures_), at_least);
    if (next >= until_ || (asking_.attempts != 0 && failures_ >= asking_.attempts)) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_).count();
      throw Error(
          ErrorKind::io,
          "given up after " + std::to_string(failures_) + " requests in " + std::to_string(seconds) + " s: " + last_,
          where());
    }
    say();
    for (auto now = Clock::now(); now < next; now = Clock::now()) {
      require_uninterrupted();
      std::this_thread::sleep_until(std::min(next, now + kBetweenInterruptions));
    }
  }

  void say() const {
    const auto waited = Clock::now() - began_;
    if (waited >= kWorthALine) say_waiting(asking_.address, waited, last_);
  }

  ErrorContext where() const { return {.dataset = asking_.address}; }

  Loop& loop_;
  StoreCounters& counters_;
  const Asking& asking_;
  const Clock::time_point began_ = Clock::now(), until_;
  unsigned failures_ = 0, unreachable_ = 0, anew_ = 0;
  std::string last_;
};

class Ranges final : public RangeReader {
 public:
  Ranges(std::shared_ptr<Transport::Core> core, DialectOf dialect_of, OnRange on_range)
      : core_(std::move(core)),
        caller_(std::make_shared<RangeCaller>(core_->loop, core_->renewal, core_->counters, std::move(dialect_of),
                                              std::move(on_range))),
        stopping_(std::make_unique<Stopping>(*this)) {}
  ~Ranges() override {
    Ranges::stop();
    if (pid_ == ::getpid()) return;
    // A forked child: the loop may have been in the middle of these objects, so they are leaked.
    static_cast<void>(new std::shared_ptr<RangeCaller>(std::move(caller_)));
    static_cast<void>(new std::shared_ptr<Transport::Core>(std::move(core_)));
  }

  void submit(std::vector<RangeRead> reads) noexcept override {
    bool posted = false;
    auto failure = caught([&] {
      if (pid_ != ::getpid())
        throw Error(ErrorKind::io, "this reader belongs to the process from which this one was forked");
      auto work = std::make_unique<Taking>(*this);
      work->reads = std::move(reads);
      posted = core_->loop.post(std::move(work));
      if (!posted) reads.clear();  // the process is ending
    });
    if (failure == nullptr) return;
    for (const RangeRead& read : reads) caller_->give(read.tag, failure);
  }

  void stop() noexcept override {
    if (stopping_ == nullptr || pid_ != ::getpid()) return;
    const auto over = stopping_->over;
    if (core_->loop.post(std::move(stopping_))) over->wait(false);
  }

  StoreCounts counts() const override { return caller_->counters().counts(); }

 private:
  struct Taking final : Loop::Work {
    explicit Taking(const Ranges& ranges) : caller(ranges.caller_) {}
    void run() override { caller->take(reads); }
    std::shared_ptr<RangeCaller> caller;
    std::vector<RangeRead> reads;
  };
  struct Stopping final : Loop::Work {
    explicit Stopping(const Ranges& ranges) : caller(ranges.caller_) {}
    void run() override {
      caller->stop();
      *over = true;
      over->notify_all();
    }
    std::shared_ptr<RangeCaller> caller;
    std::shared_ptr<std::atomic<bool>> over = std::make_shared<std::atomic<bool>>(false);
  };

  const ::pid_t pid_ = ::getpid();
  std::shared_ptr<Transport::Core> core_;
  std::shared_ptr<RangeCaller> caller_;
  std::unique_ptr<Stopping> stopping_;  // made in advance, because memory may run out later
};

}  // namespace

std::string http_library() {
  const curl_version_info_data* const library = ::curl_version_info(CURLVERSION_NOW);
  std::string text = std::string("libcurl ") + library->version;
  if (library->ssl_version != nullptr) text += std::string(", ") + library->ssl_version;
  return text;
}

Transport::Transport() : core_(std::make_shared<Core>()) {}

Transport::~Transport() = default;

HttpResponse Transport::send(const Asking& asking) {
  return Sending(core_->loop, core_->counters, asking).run();
}

std::unique_ptr<RangeReader> Transport::reader(DialectOf dialect_of, OnRange on_range) {
  return std::make_unique<Ranges>(core_, std::move(dialect_of), std::move(on_range));
}

StoreCounts Transport::counts() const {
  return core_->counters.counts();
}

void Transport::end() noexcept {
  core_->loop.end();
}

}  // namespace penstock
