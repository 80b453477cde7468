#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <base/caught.hpp>
#include <loader/node_memory/local_socket.hpp>
#include <loader/sharing/link.hpp>
#include <penstock/error.hpp>

namespace penstock::sharing {
namespace {

constexpr std::chrono::milliseconds kSlice{50};  // between two calls of `cancelled`
using Clock = std::chrono::steady_clock;

// Connects to the name. Returns nothing if no process listens. Throws if the name belongs to another user.
UnforkedDescriptor reach(const std::string& name) {
  UnforkedDescriptor socket = connected(name, SOCK_STREAM);
  if (!socket && (errno == ECONNREFUSED || errno == EAGAIN)) return {};
  if (!socket) throw Error::resource("cannot connect to a socket: " + std::generic_category().message(errno));
  if (!is_of_this_user(socket.get()))
    throw Error::resource("a process of another user has the name; choose another one");
  return socket;
}

void wait_for(int socket, bool sends, const WakeEvent& wake, std::chrono::milliseconds longest) {
  std::array<pollfd, 2> events{
      pollfd{.fd = socket, .events = static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), .revents = 0},
      pollfd{.fd = wake.get(), .events = POLLIN, .revents = 0}};
  ::poll(events.data(), events.size(), static_cast<int>(longest.count()));
  if (events[1].revents != 0) wake.reset();
}

}  // namespace

/// A batch whose values are in the memory of the hub. Destroying it returns the memory.
struct Link::Lent final : NotedBatch {
  Lent(std::shared_ptr<Link> from, std::uint64_t of_loan)
      : link(std::move(from)), loan(of_loan), dataset(link->dataset_) {}
  ~Lent() {
    for (std::size_t i = 0; i < views.size(); ++i)
      if (views[i] != nullptr) views[i]->forget_changes(places[i].offset, fields[i].values.bytes());
    link->release(loan);
  }
  Lent(Lent&&) = delete;

  const std::shared_ptr<Link> link;
  const std::uint64_t loan;
  const Dataset dataset;                                  // owns the keys
  std::vector<std::shared_ptr<const PrivateView>> views;  // by field
};

Link::Link(UnforkedDescriptor socket, Dataset dataset, std::span<const Output> outputs)
    : dataset_(std::move(dataset)), outputs_(outputs.begin(), outputs.end()), connection_(std::move(socket)) {}

std::shared_ptr<Link> Link::join(const std::string& name, const Hello& hello, Dataset dataset,
                                 std::span<const Output> outputs, std::chrono::milliseconds patience,
                                 const std::function<bool()>& cancelled) {
  UnforkedDescriptor socket = reach(name);
  if (!socket) return nullptr;
  std::shared_ptr<Link> link(new Link(std::move(socket), std::move(dataset), outputs));
  link->send({.kind = Kind::hello, .body = hello.body()});
  const auto frame = link->await(Clock::now() + patience, cancelled);
  if (!frame && link->gone()) return nullptr;
  link->loads_ = hello.loads;
  if (!frame) return link;  // the process was stopped
  link->require_welcome(*frame);
  WireReader from(frame->body);
  link->answered_ = true;
  if (from.flag()) link->suggested_ = read_position(from);
  return link;
}

void Link::require_welcome(const Frame& frame) const {
  if (frame.kind != Kind::refused) return;
  throw Error::invalid_argument(
      "the loaders that share batches under this name have other options or another dataset: they have " + frame.body +
      ", this loader has " + loads_);
}

bool Link::gone() const {
  const std::scoped_lock lock(mutex_);
  return connection_.gone();
}

bool Link::waits_to_send() const {
  const std::scoped_lock lock(mutex_);
  return connection_.sends();
}

void Link::send(const Frame& frame) {
  const std::scoped_lock lock(mutex_);
  connection_.send(frame);
}

void Link::more(std::uint64_t batches) {
  WireWriter to;
  to.number(batches);
  send({.kind = Kind::more, .body = to.take()});
}

// Called by destructors: without memory for the message, the hub keeps the batch until this process ends. A child of
// fork() returns nothing, because the batch is still its parent's.
void Link::release(std::uint64_t loan) {
  if (made_in_ != ::getpid()) return;
  caught([&] {
    WireWriter to;
    to.number(loan);
    send({.kind = Kind::release, .body = to.take()});
  });
}

// Returns nothing if the hub is gone, if time is up, or if cancelled.
std::optional<Frame> Link::await(Clock::time_point until, const std::function<bool()>& cancelled) {
  for (;;) {
    int socket = -1;
    bool sends = false;
    {
      const std::scoped_lock lock(mutex_);
      connection_.flush();
      connection_.receive();
      if (auto frame = connection_.next()) return frame;
      if (connection_.gone()) return std::nullopt;
      socket = connection_.socket();
      sends = connection_.sends();
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (cancelled() || left.count() <= 0) return std::nullopt;
    wait_for(socket, sends, wake_, std::min(left, kSlice));
  }
}

Answer Link::ask(const Position& at, std::chrono::milliseconds patience, const std::function<bool()>& cancelled,
                 Batch& result) {
  const std::uint64_t number = ++asks_;
  if (!waits_to_send()) {  // a hub that was stopped reads nothing
    WireWriter to;
    to.number(number);
    write(to, at);
    send({.kind = Kind::ask, .body = to.take()});
  }
  for (;;) {
    std::optional<Frame> frame = await(Clock::now() + patience, cancelled);  // each frame is a sign of life
    if (!frame) return gone() ? Answer::gone : cancelled() ? Answer::cancelled : Answer::late;
    if (frame->kind == Kind::elsewhere && WireReader(frame->body).number() == number) return Answer::elsewhere;
    require_welcome(*frame);
    if (frame->kind != Kind::batch) continue;
    if (auto batch = received(*frame, number, at)) {
      result = std::move(*batch);
      return Answer::batch;
    }
  }
}

// Returns nothing for the answer to an earlier ask, which this consumer gave up.
std::optional<Batch> Link::received(Frame& frame, std::uint64_t number, const Position& at) {
  WireReader from(frame.body);
  const Handed handed = read_handed(from);
  auto lent = std::make_shared<Lent>(shared_from_this(), handed.loan);
  if (handed.regions.size() != frame.descriptors.size())
    throw Error::corrupt("a message of another process lacks memory");
  for (std::size_t i = 0; i < handed.regions.size(); ++i)
    views_[handed.regions[i].number] =
        std::make_shared<const PrivateView>(frame.descriptors[i], handed.regions[i].bytes);
  for (const std::uint64_t region : handed.ended) views_.erase(region);
  if (handed.ask != number) return std::nullopt;
  read_batch(from, outputs_, dataset_.size(), at, *lent);
  for (const std::uint64_t sample : lent->samples) lent->keys.push_back(lent->dataset.key(sample));
  for (std::size_t i = 0; i < lent->fields.size(); ++i) {
    const std::uint64_t bytes = lent->fields[i].values.bytes();
    lent->views.push_back(nullptr);
    if (bytes == 0) continue;
    const ValuePlace& place = lent->places[i];
    const auto view = views_.find(place.region);
    if (view == views_.end() || place.offset > view->second->size() || bytes > view->second->size() - place.offset)
      throw Error::corrupt("a message of another process names memory that it did not send");
    lent->fields[i].values.data = view->second->data() + place.offset;
    lent->views.back() = view->second;
  }
  return Batch(std::shared_ptr<const BatchRecord>(lent, lent.get()));
}

std::string socket_name(const std::string& name) {
  return "penstock-share" + std::to_string(kVersion) + "-" + std::to_string(::geteuid()) + "-" + name;
}

std::optional<std::string> recipe_of(const std::string& name, std::chrono::milliseconds patience) {
  UnforkedDescriptor socket = reach(name);
  if (!socket) return std::nullopt;
  Connection connection(std::move(socket));
  connection.send({.kind = Kind::recipe});
  const Clock::time_point until = Clock::now() + patience;
  while (Clock::now() < until) {
    const bool there = connection.receive();
    if (auto frame = connection.next(); frame && frame->kind == Kind::recipe) return std::move(frame->body);
    if (!there) return std::nullopt;
    wait_for(connection.socket(), connection.sends(), WakeEvent(), kSlice);
  }
  throw Error::resource("the process that builds the batches does not answer");
}

}  // namespace penstock::sharing
