#include <algorithm>
#include <climits>
#include <new>

#include <base/caught.hpp>
#include <remote/http/engine/loop.hpp>

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{250};

}  // namespace

Loop::Loop(const RemoteSettings& settings) : settings_(settings), trust_(find_trust()) {
  // Initialises libcurl once. Repeated and concurrent calls are allowed (libcurl 7.84 and newer).
  if (::curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw Error::resource("libcurl cannot be set up");
  multi_ = ::curl_multi_init();
  if (multi_ == nullptr) throw std::bad_alloc();
  ::curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
  ::curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  ::curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_timer);
  ::curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  ::curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(settings_.connections));
  ::curl_multi_setopt(multi_, CURLMOPT_PIPELINING, long{CURLPIPE_NOTHING});
  const auto failure = caught([&] {
    free_.reserve(settings_.connections);
    under_way_.reserve(settings_.connections);
    ended_.reserve(std::size_t{2} * settings_.connections);
    ForkGate::add(*this);
    thread_ = Thread("remote", [this](const std::stop_token& stop) { run(stop); });
  });
  if (failure == nullptr) return;
  ForkGate::remove(*this);
  ::curl_multi_cleanup(multi_);
  std::rethrow_exception(failure);
}

Loop::~Loop() {
  end();
  ForkGate::remove(*this);
  for (Transfer* const transfer : under_way_) ::curl_multi_remove_handle(multi_, transfer->handle());
  transfers_.clear();
  ::curl_multi_cleanup(multi_);
}

void Loop::end() noexcept {
  std::unique_ptr<Work> left;
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    left = std::move(first_);
    last_ = nullptr;
  }
  while (left != nullptr) left = std::move(left->next_);  // one by one: a long chain must not recurse deeply
  thread_.request_stop();
  sockets_.wake();
  thread_.join();
}

bool Loop::post(std::unique_ptr<Work> work) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (over_) return false;
    Work* const added = work.get();
    if (last_ != nullptr) {
      last_->next_ = std::move(work);
    } else {
      first_ = std::move(work);
    }
    last_ = added;
  }
  if (asleep_.exchange(false)) sockets_.wake();
  return true;
}

void Loop::take_posted() {
  std::unique_ptr<Work> work;
  {
    const std::scoped_lock lock(mutex_);
    work = std::move(first_);
    last_ = nullptr;
  }
  for (; work != nullptr; work = std::move(work->next_)) static_cast<void>(caught([&] { work->run(); }));
}

void Loop::run(const std::stop_token& stop) {
  // An exception of a turn (out of memory) affects one exchange, which its caller's deadline ends.
  while (!stop.stop_requested()) {
    static_cast<void>(caught([&] { turn(); }));
    if (may_begin()) {
      events_ = {};
      continue;
    }
    int wait = milliseconds_to_wait();
    asleep_ = true;
    {
      const std::scoped_lock lock(mutex_);
      if (first_ != nullptr || over_) wait = 0;
    }
    events_ = sockets_.wait(wait);
    asleep_ = false;
  }
}

void Loop::turn() {
  work_in_curl();
  give_ends();
  take_posted();
  run_timers();
}

void Loop::work_in_curl() {
  const ForkGate gate;
  int running = 0;
  for (const Sockets::Event& event : std::exchange(events_, {})) {
    const int what =
        (event.in ? CURL_CSELECT_IN : 0) | (event.out ? CURL_CSELECT_OUT : 0) | (event.failed ? CURL_CSELECT_ERR : 0);
    ::curl_multi_socket_action(multi_, event.socket, what, &running);
  }
  take_ends();
  const auto failure = caught([&] { begin_waiting(); });
  const auto now = Clock::now();
  if (curl_due_ <= now) {
    curl_due_ = Clock::time_point::max();
    ::curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }
  if (look_at_stalled_ <= now) end_stalled();
  take_ends();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void Loop::begin_waiting() {
  while (may_begin()) {
    Exchange& exchange = *waiting_.front();
    waiting_.pop_front();
    exchange.waiting_ = false;
    begin(exchange);
  }
}

void Loop::begin(Exchange& exchange) {
  HttpRequest request;
  bool wanted = false;
  CURLMcode code = CURLM_OK;
  const auto failure = caught([&] {
    wanted = exchange.begin(request);
    if (!wanted) return;
    if (free_.empty()) {
      transfers_.reserve(transfers_.size() + 1);
      auto made = std::make_unique<Transfer>(sockets_, settings_, trust_);
      free_.push_back(made.get());
      transfers_.push_back(std::move(made));
    }
    Transfer& transfer = *free_.back();
    transfer.set(exchange, request);
    code = ::curl_multi_add_handle(multi_, transfer.handle());
    if (code != CURLM_OK) return;
    free_.pop_back();
    under_way_.push_back(&transfer);
    exchange.transfer_ = &transfer;
    if (look_at_stalled_ == Clock::time_point::max()) look_at_stalled_ = Clock::now() + kBetweenLooks;
  });
  if (failure != nullptr) {
    ended_.push_back({&exchange, {Failure::Kind::unable, "no memory is left for the request"}});
  } else if (code != CURLM_OK) {
    ended_.push_back({&exchange, {Failure::Kind::unable, ::curl_multi_strerror(code)}});
  }
}

void Loop::forget(Transfer& transfer) {
  ::curl_multi_remove_handle(multi_, transfer.handle());
  transfer.exchange().transfer_ = nullptr;
  std::erase(under_way_, &transfer);
  free_.push_back(&transfer);
}

bool Loop::has_answered(const std::string& url) {
  return answered_.contains(url);
}

void Loop::take_ends() {
  int left = 0;
  while (const CURLMsg* const message = ::curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    void* kept = nullptr;
    ::curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &kept);
    Transfer& transfer = *static_cast<Transfer*>(kept);
    Exchange& exchange = transfer.exchange();
    Failure failure = transfer.end(code);
    if (failure.kind == Failure::Kind::unreachable) {
      if (has_answered(transfer.origin())) failure.kind = Failure::Kind::broken;
    } else if (failure.kind == Failure::Kind::none && transfer.origin() != last_answered_) {
      constexpr std::size_t kMostHosts = 10'000;
      last_answered_ = transfer.origin();
      if (answered_.size() < kMostHosts) answered_.insert(last_answered_);
    }
    forget(transfer);
    ended_.push_back({&exchange, std::move(failure)});
  }
}

void Loop::give_ends() {
  for (std::size_t i = 0; i < ended_.size(); ++i) {
    Exchange* const exchange = ended_[i].exchange;
    if (exchange == nullptr) continue;  // cancelled by an earlier one
    Failure failure = std::move(ended_[i].failure);
    ended_[i].exchange = nullptr;
    static_cast<void>(caught([&] { exchange->on_end(std::move(failure)); }));
  }
  ended_.clear();
}

void Loop::end_stalled() {
  const auto now = Clock::now();
  look_at_stalled_ = under_way_.empty() ? Clock::time_point::max() : now + kBetweenLooks;
  for (std::size_t i = 0; i < under_way_.size();) {
    Transfer& transfer = *under_way_[i];
    if (!transfer.has_stalled(now, settings_.stall)) {
      ++i;
      continue;
    }
    Exchange& exchange = transfer.exchange();
    forget(transfer);
    ended_.push_back({&exchange,
                      {Failure::Kind::broken, "less than 1 KiB/s arrived in the last " +
                                                  std::to_string(settings_.stall.count() / 1000) + " s"}});
  }
}

void Loop::start(Exchange& exchange) {
  waiting_.push_back(&exchange);
  exchange.waiting_ = true;
}

void Loop::cancel(Exchange& exchange) {
  if (exchange.waiting_) {
    std::erase(waiting_, &exchange);
    exchange.waiting_ = false;
  }
  if (exchange.transfer_ != nullptr) {
    const ForkGate gate;
    forget(*exchange.transfer_);
  }
  for (Ended& ended : ended_) {
    if (ended.exchange == &exchange) ended.exchange = nullptr;
  }
}

void Loop::set(Timer& timer, Clock::time_point at) {
  call_off(timer);
  timers_.emplace(at, &timer);
  timer.at_ = at;
  timer.set_ = true;
}

void Loop::call_off(Timer& timer) {
  if (timer.set_) timers_.erase({timer.at_, &timer});
  timer.set_ = false;
}

void Loop::run_timers() {
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Timer& timer = *timers_.begin()->second;
    call_off(timer);
    static_cast<void>(caught([&] { timer.due(); }));
  }
}

int Loop::milliseconds_to_wait() {
  auto until = std::min(curl_due_, look_at_stalled_);
  if (!timers_.empty()) until = std::min(until, timers_.begin()->first);
  if (until == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

int Loop::on_socket(CURL*, curl_socket_t socket, int what, void* loop, void*) {
  const bool in = what == CURL_POLL_IN || what == CURL_POLL_INOUT,
             out = what == CURL_POLL_OUT || what == CURL_POLL_INOUT;
  const auto failure = caught([&] { static_cast<Loop*>(loop)->sockets_.want(socket, in, out); });
  return failure == nullptr ? 0 : -1;
}

int Loop::on_timer(CURLM*, long milliseconds, void* loop) {
  static_cast<Loop*>(loop)->curl_due_ =
      milliseconds < 0 ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds(milliseconds);
  return 0;
}

}  // namespace penstock
