#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <base/caught.hpp>
#include <loader/node_memory/local_socket.hpp>
#include <loader/sharing/hub.hpp>
#include <penstock/error.hpp>

namespace penstock::sharing {
namespace {

constexpr std::size_t kMostConsumers = 1024;
constexpr std::chrono::seconds kSign{1};  // between two signs of life for a consumer that waits
// After a hub has ended, the others ask the next one in about this time. The run begins with the slowest.
constexpr std::chrono::milliseconds kSettle{100};
constexpr std::chrono::milliseconds kLook{100};  // between two looks at the clock while a consumer waits

// The order of positions in a training. Positions of different orders are not comparable; any result is right for them.
auto order_of(const Position& at) {
  return std::tuple(at.epoch, at.start, at.batch);
}

}  // namespace

std::chrono::milliseconds patience_of(const SharingOptions& options) {
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(options.patience));
}

std::unique_ptr<Hub> Hub::open(const std::string& name, const SharingOptions& options, Builder builder,
                               std::string loads, bool first) {
  UnforkedDescriptor socket = listening(name, SOCK_STREAM);
  if (!socket && errno == EADDRINUSE) return nullptr;
  if (!socket) throw Error::resource("cannot listen at a socket: " + std::generic_category().message(errno));
  std::unique_ptr<Hub> hub(new Hub(std::move(socket), options, std::move(builder), std::move(loads)));
  hub->awaited_ = first ? options.consumers : 0;
  hub->takes_over_ = !first;
  hub->start();
  return hub;
}

Hub::Hub(UnforkedDescriptor socket, const SharingOptions& options, Builder builder, std::string loads)
    : options_(options),
      patience_(patience_of(options)),
      builder_(std::move(builder)),
      loads_(std::move(loads)),
      socket_(std::move(socket)) {}

void Hub::start() {
  const Thread::Failed failed = [this](const std::exception_ptr&) { close(); };
  feeder_ = Thread(
      "penstock-window", [this](const std::stop_token&) { feed(); }, failed);
  server_ = Thread(
      "penstock-share", [this](const std::stop_token&) { serve(); }, failed);
}

Hub::~Hub() {
  close();
  feeder_ = {};
  server_ = {};
}

void Hub::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  wake_.ring();
}

HubCounts Hub::counts() const {
  const std::scoped_lock lock(mutex_);
  HubCounts counts = counts_;
  counts.consumers = static_cast<std::uint64_t>(
      std::ranges::count_if(consumers_, [](const auto& each) { return each->hello.has_value(); }));
  return counts;
}

std::optional<Journey> Hub::journey_of(const Position& at) const {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(journeys_, key_of(at), &std::pair<std::string, Journey>::first);
  return found == journeys_.end() ? std::nullopt : std::optional(found->second);
}

// ---- The window -----------------------------------------------------------------------------------------------------

void Hub::feed() {
  for (;;) {
    std::uint64_t run = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || may_build(); });
      if (closed_) return;
      run = run_;
    }
    std::optional<BatchResult> result = builder_.take(run);
    {
      const std::scoped_lock lock(mutex_);
      if (closed_) return;
      if (!result && run == run_) closed_ = true;  // the builder has ended, so another process takes over
      if (result && run == run_) {
        const Position at = walk_->at();
        constexpr std::size_t kJourneys = 32;
        journeys_.emplace_back(key_of(at), result->journey);
        if (journeys_.size() > kJourneys) journeys_.pop_front();
        window_.push_back({.at = at, .key = key_of(at), .result = std::move(*result)});
        walk_->next();
        ++counts_.built;
      }
    }
    wake_.ring();
  }
}

bool Hub::may_build() const {
  if (!walk_ || walk_->empty()) return false;
  const auto needed = needed_next();
  if (!needed) return false;
  return frontier() < (options_.behind == Behind::wait ? needed->slowest + options_.lag
                                                       : needed->fastest + std::max(options_.lag / 2, 1U));
}

std::optional<Hub::Needed> Hub::needed_next() const {
  std::optional<Needed> needed;
  for (const auto& each : consumers_) {
    if (!each->with_others) continue;
    const Needed both = needed.value_or(Needed{.slowest = each->next, .fastest = each->next});
    needed = {.slowest = std::min(both.slowest, each->next), .fastest = std::max(both.fastest, each->next)};
  }
  return needed;
}

bool Hub::gathering(Clock::time_point now) const {
  return awaited_ != 0 && now - opened_ < patience_;
}

void Hub::begin(const Position& at) {
  window_.clear();
  first_ = 0;
  for (const auto& each : consumers_) each->with_others = false;
  walk_.emplace(builder_.order, at);
  run_ = builder_.begin(at);
}

// Returns the place of the oldest batch of the run that a consumer holds, or that none has got.
std::uint64_t Hub::oldest_held() const {
  std::uint64_t oldest = frontier();
  for (const auto& each : consumers_)
    for (const auto& [number, loan] : each->holds)
      if (loan.run == run_) oldest = std::min(oldest, loan.place);
  return oldest;
}

// Forgets the batches that every consumer has got. The last ones remain, `lag` at most, from the oldest on that a
// consumer still holds. A loader that comes next can then begin with them.
void Hub::trim() {
  if (gathering(Clock::now())) return;
  const auto needed = needed_next();
  const std::uint64_t next = needed ? needed->slowest : first_, held = oldest_held();
  const std::uint64_t kept = std::max(held, next - std::min<std::uint64_t>(next, options_.lag));
  const bool builds = options_.behind == Behind::build;
  while (!window_.empty() &&
         ((first_ < next && first_ < kept) || (builds && window_.size() > std::size_t{2} * options_.lag))) {
    window_.pop_front();
    ++first_;
  }
}

void Hub::leave_behind(Clock::time_point now) {
  const auto waits = [this](const auto& each) {
    return each->ask.has_value() && each->with_others && each->next == frontier();
  };
  if (options_.behind != Behind::wait || may_build() || std::ranges::none_of(consumers_, waits)) return;
  for (const auto& each : consumers_) {
    if (!each->with_others || each->ask.has_value() || now - each->heard < patience_) continue;
    if (each->next + options_.lag > frontier()) continue;
    each->with_others = false;
    ++counts_.left_behind;
  }
}

// ---- The consumers --------------------------------------------------------------------------------------------------

void Hub::serve() {
  std::vector<pollfd> events;
  bool has_descriptors = true;
  for (;;) {
    bool waits = !has_descriptors;
    {
      const std::scoped_lock lock(mutex_);
      if (closed_) break;
      events.assign({{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                     {.fd = has_descriptors ? socket_.get() : -1, .events = POLLIN, .revents = 0}});
      for (const auto& each : consumers_) {
        const bool sends = each->connection.sends();
        events.push_back({.fd = each->connection.socket(),
                          .events = static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN),
                          .revents = 0});
        waits |= each->ask.has_value();
      }
      waits |= gathering(Clock::now());
    }
    if (::poll(events.data(), events.size(), waits ? static_cast<int>(kLook.count()) : -1) < 0) continue;
    std::vector<std::unique_ptr<Consumer>> ended;  // destroyed without the lock: their batches return to the pool
    {
      const std::scoped_lock lock(mutex_);
      if (closed_) break;
      if (events[0].revents != 0) wake_.reset();
      for (std::size_t i = 2; i < events.size(); ++i) {
        Consumer& consumer = *consumers_[i - 2];
        if ((events[i].revents & POLLOUT) != 0) consumer.connection.flush();
        if ((events[i].revents & ~POLLOUT) != 0) hear(consumer);
      }
      has_descriptors = events[1].revents == 0 || accept();
      leave_behind(Clock::now());
      answer_all();
      ask_for_patience(Clock::now());
      const auto gone = std::ranges::partition(consumers_, [](const auto& each) { return !each->connection.gone(); });
      for (auto& each : gone) ended.push_back(std::move(each));
      consumers_.erase(gone.begin(), gone.end());
      trim();
    }
    changed_.notify_all();
  }
  const std::scoped_lock lock(mutex_);
  consumers_.clear();
  window_.clear();
  socket_ = {};  // another process may take the name
}

// Returns false if the system has no descriptor for the next guest.
bool Hub::accept() {
  Guest guest = next_guest(socket_.get());
  if (guest.socket && consumers_.size() < kMostConsumers)
    consumers_.push_back(std::make_unique<Consumer>(std::move(guest.socket)));
  return !guest.out_of_descriptors;
}

void Hub::hear(Consumer& consumer) {
  consumer.heard = Clock::now();
  const auto failure = caught([&] {
    consumer.connection.receive();
    while (const auto frame = consumer.connection.next()) hear(consumer, *frame);
  });
  if (failure != nullptr) consumer.connection.end();
}

void Hub::hear(Consumer& consumer, const Frame& frame) {
  if (frame.kind == Kind::recipe) return consumer.connection.send({.kind = Kind::recipe, .body = options_.recipe});
  if (frame.kind == Kind::hello) return greet(consumer, frame);
  if (!consumer.hello) throw Error::corrupt("a message came before the first one");
  WireReader from(frame.body);
  if (frame.kind == Kind::ask) {
    const std::uint64_t number = from.number();
    const Clock::time_point now = Clock::now();
    Consumer::Ask ask{.number = number, .at = read_position(from), .key = {}, .since = now, .signed_at = now};
    ask.key = key_of(ask.at);
    consumer.ask = std::move(ask);
    if (!std::exchange(consumer.asked, true) && awaited_ != 0) --awaited_;
  } else if (frame.kind == Kind::release) {
    consumer.holds.erase(from.number());
  } else if (frame.kind == Kind::more) {
    consumer.hello->keeps += from.number();
    make_room();
  } else {
    throw Error::corrupt("a message of this kind is not for a hub");
  }
}

void Hub::greet(Consumer& consumer, const Frame& frame) {
  if (consumer.hello) throw Error::corrupt("a second first message");
  std::optional<Hello> hello;
  std::string refusal = loads_;
  try {
    hello = Hello::of(frame.body);
  } catch (const Error& error) {
    refusal = error.cause();
  }
  if (!hello || hello->loads != loads_)
    return consumer.connection.send({.kind = Kind::refused, .body = std::move(refusal)});
  consumer.hello = std::move(hello);
  make_room();
  welcome(consumer);
}

// A consumer that has no position yet begins with the oldest batch that the others still need. The window keeps it.
void Hub::welcome(Consumer& consumer) {
  WireWriter to;
  const bool follows = consumer.hello->anywhere && walk_ && needed_next();
  to.number(follows ? 1 : 0);
  if (follows) {
    write(to, window_.empty() ? walk_->at() : window_.front().at);
    consumer.with_others = true;
    consumer.next = first_;
  }
  consumer.connection.send({.kind = Kind::welcome, .body = to.take()});
}

// Without memory for more batches, a consumer gets fewer at a time and builds the others itself.
void Hub::make_room() {
  constexpr std::uint64_t kMostKept = 256;  // by one consumer
  std::uint64_t wanted = 0;
  for (const auto& each : consumers_)
    if (each->hello) wanted += std::min(each->hello->keeps, kMostKept);
  if (wanted > granted_ && caught([&] { builder_.grow(wanted - granted_); }) == nullptr) granted_ = wanted;
  std::uint64_t left = granted_;
  for (const auto& each : consumers_) {
    if (!each->hello) continue;
    each->keeps = std::min({each->hello->keeps, kMostKept, left});
    left -= each->keeps;
  }
}

void Hub::answer_all() {
  bool again = true;
  while (std::exchange(again, false)) {
    for (const auto& each : consumers_)
      if (each->ask && !each->connection.gone() && answer(*each)) again = true;
  }
}

void Hub::find(Consumer& consumer) const {
  consumer.with_others = true;
  for (std::size_t i = 0; i < window_.size(); ++i) {
    if (window_[i].key != consumer.ask->key) continue;
    consumer.next = first_ + i;
    return;
  }
  consumer.next = frontier();
  if (!walk_ || walk_->empty() || key_of(walk_->at()) != consumer.ask->key) consumer.with_others = false;
}

bool Hub::followed_by_others(const Consumer& than, Clock::time_point now) const {
  return std::ranges::any_of(consumers_, [&](const auto& each) {
    return each.get() != &than && each->with_others && (each->ask.has_value() || now - each->heard < patience_);
  });
}

// Returns true if the answer, or another run, may have changed what others get.
bool Hub::answer(Consumer& consumer) {
  const Clock::time_point now = Clock::now();
  find(consumer);
  if (consumer.with_others) {
    consumer.apart = false;
    if (consumer.next >= frontier() || gathering(now)) return false;  // it is being built, or others are to come
    const Built& built = window_[static_cast<std::size_t>(consumer.next - first_)];
    if (built.result.failure != nullptr || consumer.holds.size() >= consumer.keeps) {
      send_elsewhere(consumer);
    } else {
      hand(consumer, built);
    }
    ++consumer.next;
    consumer.ask.reset();
    return true;
  }
  if (!followed_by_others(consumer, now)) {
    if (takes_over_ && !walk_ && now - opened_ < kSettle) return false;
    const Position* first = &consumer.ask->at;
    for (const auto& each : consumers_)
      if (each->ask && order_of(each->ask->at) < order_of(*first)) first = &each->ask->at;
    begin(Position(*first));
    return true;
  }
  const bool passed = order_of(consumer.ask->at) < order_of(walk_->at());
  if (!passed && !consumer.apart && now - consumer.ask->since < patience_) return false;
  consumer.apart = !passed;
  send_elsewhere(consumer);
  consumer.ask.reset();
  return true;
}

void Hub::send_elsewhere(Consumer& consumer) {
  WireWriter to;
  to.number(consumer.ask->number);
  consumer.connection.send({.kind = Kind::elsewhere, .body = to.take()});
}

void Hub::ask_for_patience(Clock::time_point now) {
  for (const auto& each : consumers_) {
    if (!each->ask || now - each->ask->signed_at < kSign || each->connection.sends()) continue;
    each->ask->signed_at = now;
    each->connection.send({.kind = Kind::patience});
  }
}

void Hub::hand(Consumer& consumer, const Built& built) {
  const BatchRecord& record = *built.result.batch.slab();
  std::vector<SharedRegions::Place> places;
  for (const Field& field : record.fields) {
    const auto found =
        field.values.bytes() == 0 ? std::optional(SharedRegions::Place{}) : builder_.memory->find(field.values.data);
    if (!found) return send_elsewhere(consumer);
    places.push_back(*found);
  }
  Frame frame{.kind = Kind::batch};
  Handed handed{.ask = consumer.ask->number, .loan = ++loans_};
  for (const SharedRegions::Place& place : places) {
    if (place.region == 0 || !consumer.knows.insert(place.region).second) continue;
    handed.regions.push_back({.number = place.region, .bytes = place.bytes});
    frame.beside.push_back(place.file);
  }
  if (const std::uint64_t ended = builder_.memory->ended(); std::exchange(consumer.saw_ended, ended) != ended) {
    for (const std::uint64_t region : consumer.knows)
      if (!builder_.memory->has(region)) handed.ended.push_back(region);
    for (const std::uint64_t region : handed.ended) consumer.knows.erase(region);
  }
  WireWriter to;
  write(to, handed);
  write(to, record, [&, next = std::size_t{0}](const Field&) mutable {
    const SharedRegions::Place& place = places[next++];
    return ValuePlace{.region = place.region, .offset = place.offset};
  });
  frame.body = to.take();
  consumer.holds.emplace(loans_, Consumer::Loan{.run = run_, .place = consumer.next, .batch = built.result.batch});
  consumer.connection.send(frame);
}

}  // namespace penstock::sharing
