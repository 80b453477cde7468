#include <algorithm>
#include <utility>

#include <remote/http/engine/sent.hpp>
#include <remote/http/header_values.hpp>

namespace penstock {

Sent::Sent(Loop& loop, StoreCounters& counters, HttpRequest request, std::uint64_t most_bytes, bool again)
    : loop_(loop), counters_(counters), request_(std::move(request)), most_bytes_(most_bytes), again_(again) {}

void Sent::post() {
  if (!loop_.post(loop_work([self = shared_from_this()] { self->loop_.start(*self); })))
    finish({Failure::Kind::unable, "the process ends"});
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
  if (!loop_.post(std::move(end))) finish({Failure::Kind::unable, "the process ends"});
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

}  // namespace penstock
