#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <poll.h>

#include <base/caught.hpp>
#include <base/thread.hpp>
#include <loader/asking/handshake.hpp>
#include <loader/asking/request.hpp>
#include <loader/asking/tcp.hpp>
#include <loader/node_memory/local_socket.hpp>
#include <loader/serving/source.hpp>
#include <loader/sharing/notes.hpp>
#include <loader/sharing/wire.hpp>
#include <penstock/batch_server.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using namespace asking;
using namespace serving;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLongestPoll{500};
constexpr milliseconds kForHandshake{10000};
constexpr std::size_t kMostAsks = 2048;            // of a client, without an answer
constexpr std::uint32_t kLongestAsk = 64U << 20U;  // bytes

milliseconds patience_of(const ServeOptions& options) {
  if (!(options.patience > 0 && options.patience <= 1e6))
    throw Error::invalid_argument("patience must be more than 0 seconds, and 1000000 at most");
  return milliseconds(static_cast<std::int64_t>(std::ceil(options.patience * 1000)));
}

std::vector<Content> contents_of(const std::vector<Dataset>& datasets) {
  std::vector<Content> contents;
  for (const Dataset& dataset : datasets) contents.push_back(Content::of(dataset));
  return contents;
}

}  // namespace

class BatchServer::Impl {
 public:
  Impl(std::vector<Dataset> datasets, const ServeOptions& options)
      : datasets_(std::move(datasets)),
        contents_(contents_of(datasets_)),
        options_(options),
        token_(token_of(options.token)),
        patience_(patience_of(options)),
        at_(parse_address(options.address)),
        socket_(listening_at(at_)),
        address_((at_.host.find(':') == std::string::npos ? at_.host : "[" + at_.host + "]") + ":" +
                 std::to_string(port_of(socket_.get()))),
        maker_("penstock-make", [this](const std::stop_token& stop) { make_sources(stop); }),
        thread_("penstock-serve", [this](const std::stop_token& stop) { run(stop); }) {}

  ~Impl() {
    thread_.request_stop();
    maker_.request_stop();
    wake_.ring();
    thread_.join();
    maker_.join();
  }
  Impl(Impl&&) = delete;

  const std::string& address() const { return address_; }
  ServeStats stats() const {
    const std::scoped_lock lock(mutex_);
    return stats_;
  }

 private:
  struct Client {
    explicit Client(UnforkedDescriptor socket) : connection(std::move(socket)) {}
    sharing::Connection connection;
    Challenge challenge = Challenge::make();
    std::shared_ptr<Source> source;  // null until it has proven the token, and its rows can be made
    bool waits = false;              // for the source
    std::size_t asks = 0;            // without an answer
    const std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
    Clock::time_point came = Clock::now(), moved = came;
    std::uint64_t sent = 0;  // bytes, when it last moved
    bool ends = false;       // once everything is sent
  };

  void run(const std::stop_token& stop) {
    std::vector<pollfd> events;
    std::vector<std::uint64_t> polled;
    bool has_descriptors = true;
    const auto turn = [&] {
      events.assign({{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                     {.fd = has_descriptors ? socket_.get() : -1, .events = POLLIN, .revents = 0}});
      polled.clear();
      for (const auto& [number, client] : clients_) {
        events.push_back({.fd = client.connection.socket(),
                          .events = static_cast<short>(client.connection.sends() ? POLLIN | POLLOUT : POLLIN),
                          .revents = 0});
        polled.push_back(number);
      }
      ::poll(events.data(), events.size(), static_cast<int>(kLongestPoll.count()));
      if (events[0].revents != 0) wake_.reset();
      has_descriptors = events[1].revents == 0 || accept();
      for (std::size_t i = 0; i < polled.size(); ++i)
        if (events[i + 2].revents != 0) hear(polled[i]);
      welcome_clients();
      send_made();
      look_at_clock();
    };
    while (!stop.stop_requested())
      if (caught(turn) != nullptr) std::this_thread::sleep_for(milliseconds(100));  // out of memory
    clients_.clear();
  }

  // Returns false if the system has no descriptor for the next client.
  bool accept() {
    for (;;) {
      Guest guest = next_client(socket_.get());
      if (!guest.socket) return !guest.out_of_descriptors;
      if (clients_.size() >= options_.most_connections) continue;  // closed
      const std::uint64_t number = ++last_;
      const auto failure = caught([&] {
        Client& client = clients_.try_emplace(number, std::move(guest.socket)).first->second;
        client.connection.limit(kLongestHandshake);
        client.connection.send({.kind = sharing::Kind::challenge, .body = client.challenge.body()});
      });
      if (failure != nullptr) clients_.erase(number);
      count([&](ServeStats& stats) { stats.connections = clients_.size(); });
    }
  }

  void hear(std::uint64_t number) {
    Client& client = clients_.at(number);
    const auto failure = caught([&] {
      client.connection.flush();
      if (client.ends) return;
      client.connection.receive_some();
      while (const auto frame = client.connection.next()) hear(number, client, *frame);
    });
    if (failure != nullptr) refuse(client, failure);
    if (client.connection.gone() || (client.ends && !client.connection.sends())) forget(number);
  }

  void hear(std::uint64_t number, Client& client, const sharing::Frame& frame) {
    if (client.source == nullptr) return greet(number, client, frame);
    if (frame.kind != sharing::Kind::rows) throw Error::corrupt("an unknown message");
    if (client.asks >= kMostAsks) throw Error::corrupt("too many asks at a time");
    sharing::WireReader from(frame.body);
    Ask ask = read_ask(from, client.source->batch_size(), client.source->dataset().size());
    ask.rows.unwanted = client.gone;
    ++client.asks;
    client.source->ask(number, std::move(ask));
  }

  void greet(std::uint64_t number, Client& client, const sharing::Frame& frame) {
    if (frame.kind != sharing::Kind::request || client.waits) throw Error::corrupt("an unknown message");
    Request request = Request::of(frame.body);
    if (!request.knows(token_, client.challenge)) throw Error::invalid_argument("the server has another token");
    client.waits = true;
    {
      const std::scoped_lock lock(mutex_);
      guests_.push_back({.client = number, .request = std::move(request)});
    }
    arrived_.notify_one();
  }

  void welcome_clients() {
    std::deque<Known> all;
    {
      const std::scoped_lock lock(mutex_);
      all.swap(known_);
    }
    for (Known& known : all) {
      const auto found = clients_.find(known.client);
      if (found == clients_.end()) continue;
      Client& client = found->second;
      if (known.failure != nullptr) {
        refuse(client, known.failure);
        if (!client.connection.sends()) forget(known.client);
        continue;
      }
      client.source = std::move(known.source);
      client.connection.limit(kLongestAsk);
      sharing::WireWriter to;
      to.text(proof_of_server(token_, client.challenge, known.request));
      to.number(client.source->workers());
      client.connection.send({.kind = sharing::Kind::accepted, .body = to.take()});
      count([&](ServeStats& stats) { ++stats.loaders; });
    }
  }

  // Makes and ends sources in a separate thread, because both may wait for storage.
  void make_sources(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (arrived_.wait(lock, stop, [&] { return !guests_.empty(); })) {
      Known known = std::move(guests_.front());
      guests_.pop_front();
      lock.unlock();
      known.failure = caught([&] { known.source = source_of(known.request.text); });
      lock.lock();
      known_.push_back(std::move(known));
      wake_.ring();
    }
    lock.unlock();
    sources_.clear();
  }

  std::shared_ptr<Source> source_of(const std::string& text) {
    if (const auto found = sources_.find(text); found != sources_.end() && !found->second->ended())
      return found->second;
    sources_.erase(text);
    std::erase_if(sources_, [](const auto& each) { return each.second.use_count() == 1; });
    const Recipe recipe = Recipe::parse(text);
    const auto same = std::ranges::find_if(contents_, [&](const Content& each) { return each.same(recipe.dataset); });
    if (same == contents_.end())
      throw Error::invalid_argument("the server does not have this dataset, or has other classes, keys or values");
    if (sources_.size() >= options_.most_recipes) {
      throw Error::resource("the server fills batches for " + std::to_string(sources_.size()) +
                            " sets of transforms already, which is its limit");
    }
    auto source = std::make_shared<Source>(datasets_[static_cast<std::size_t>(same - contents_.begin())], recipe,
                                           options_.workers, [this](Made made) {
                                             {
                                               const std::scoped_lock lock(mutex_);
                                               made_.push_back(std::move(made));
                                             }
                                             wake_.ring();
                                           });
    return sources_.emplace(text, std::move(source)).first->second;
  }

  void send_made() {
    std::deque<Made> all;
    {
      const std::scoped_lock lock(mutex_);
      all.swap(made_);
    }
    for (Made& made : all) {
      const auto found = clients_.find(made.client);
      if (found == clients_.end()) continue;
      Client& client = found->second;
      --client.asks;
      const auto failure = caught([&] { send(client, made); });
      if (failure != nullptr) refuse(client, failure);
      if (client.connection.gone()) forget(made.client);
    }
  }

  void send(Client& client, const Made& made) {
    if (!client.connection.sends()) client.moved = Clock::now();
    sharing::WireWriter to;
    if (!made.batch) {
      to.number(made.ask);
      client.connection.send({.kind = sharing::Kind::elsewhere, .body = to.take()});
      return count([](ServeStats& stats) { ++stats.failed; });
    }
    const std::shared_ptr<const BatchRecord>& record = made.batch->slab();
    write(to, ValuesHead{.number = made.ask, .crc32c = made.crc32c});
    client.connection.send({.kind = sharing::Kind::values, .body = to.take() + made.note});
    for (const Field& field : record->fields)
      client.connection.send_values({field.values.data, static_cast<std::size_t>(field.values.bytes())}, record);
    count([&](ServeStats& stats) {
      ++stats.batches;
      stats.rows += record->rows;
      stats.bytes += record->delivered_bytes();
    });
  }

  void look_at_clock() {
    const Clock::time_point now = Clock::now();
    std::vector<std::uint64_t> late;
    for (auto& [number, client] : clients_) {
      if (client.sent != client.connection.sent() || !client.connection.sends()) {
        client.sent = client.connection.sent();
        client.moved = now;
      }
      const bool slow = now - client.moved > patience_;
      if (slow) count([](ServeStats& stats) { ++stats.dropped; });
      if (slow || (client.source == nullptr && !client.waits && now - client.came > kForHandshake))
        late.push_back(number);
    }
    for (const std::uint64_t number : late) forget(number);
  }

  // Without memory for the reason, the connection ends without one.
  void refuse(Client& client, const std::exception_ptr& why) {
    count([](ServeStats& stats) { ++stats.refused; });
    client.ends = true;
    const auto failure = caught([&] {
      const Error error = error_of(why);
      const bool later = error.kind() == ErrorKind::resource || error.kind() == ErrorKind::io;
      client.connection.send(
          {.kind = sharing::Kind::refused, .body = std::string(later ? kLater : std::string_view()) + error.cause()});
    });
    if (failure != nullptr) client.connection.end();
  }

  void forget(std::uint64_t number) {
    const auto found = clients_.find(number);
    const bool loader = found->second.source != nullptr;
    *found->second.gone = true;
    clients_.erase(found);
    count([&](ServeStats& stats) {
      stats.connections = clients_.size();
      if (loader) --stats.loaders;
    });
  }

  template <typename Change>
  void count(const Change& change) {
    const std::scoped_lock lock(mutex_);
    change(stats_);
  }

  const std::vector<Dataset> datasets_;
  const std::vector<Content> contents_;  // of the datasets
  const ServeOptions options_;
  const std::string token_;
  const milliseconds patience_;
  const Address at_;
  const UnforkedDescriptor socket_;
  const std::string address_;
  WakeEvent wake_;
  mutable std::mutex mutex_;  // guards stats_ and made_
  ServeStats stats_;
  std::deque<Made> made_;
  // Guarded by mutex_, too:
  struct Known {  // a client that has proven the token
    std::uint64_t client;
    Request request;
    std::shared_ptr<Source> source = {};
    std::exception_ptr failure = {};
  };
  std::deque<Known> guests_, known_;  // without a source, with one
  std::condition_variable_any arrived_;
  // Only the thread uses these:
  std::map<std::uint64_t, Client> clients_;
  std::uint64_t last_ = 0;
  std::map<std::string, std::shared_ptr<Source>> sources_;  // only maker_ uses it
  Thread maker_, thread_;
};

BatchServer::BatchServer(std::vector<Dataset> datasets, const ServeOptions& options)
    : impl_(std::make_unique<Impl>(std::move(datasets), options)) {}
BatchServer::~BatchServer() = default;
BatchServer::BatchServer(BatchServer&&) noexcept = default;

const std::string& BatchServer::address() const {
  return impl_->address();
}

ServeStats BatchServer::stats() const {
  return impl_->stats();
}

}  // namespace penstock
