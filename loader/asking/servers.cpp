#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>
#include <utility>

#include <poll.h>

#include <base/caught.hpp>
#include <base/secrets/secret.hpp>
#include <formats/io/crc32c.hpp>
#include <loader/asking/servers.hpp>
#include <loader/batch/record_position.hpp>
#include <loader/fetch/scheduler.hpp>
#include <penstock/error.hpp>

namespace penstock::asking {
namespace {

using std::chrono::milliseconds;

constexpr double kShortestPace = 1e-3;  // seconds for a batch
constexpr milliseconds kAgain{1000};    // between two attempts to connect
constexpr milliseconds kLongestPoll{200};
constexpr std::size_t kAtOnce = std::size_t{256} << 10U;  // bytes received at once

}  // namespace

Servers::Servers(const WorkerContext& context, const ServersOptions& options, const Recipe& recipe)
    : context_(context),
      token_(token_of(options.token)),
      recipe_(recipe.text()),
      patience_(static_cast<std::int64_t>(std::ceil(options.patience * 1000))) {
  if (recipe_.size() > kLongestHandshake / 2)
    throw Error::invalid_argument("the transforms are too long to be sent to a server");
  for (const std::string& address : options.addresses) {
    servers_.emplace_back(parse_address(address));
    told_.push_back({.address = address});
  }
}

void Servers::start(const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed) {
  began_ = Clock::now();
  thread_ = std::make_unique<Thread>(
      "penstock-ask", [this, keeps_alive](const std::stop_token& stop) { run(stop); }, failed);
}

void Servers::ask(BatchBuilder& builder) {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.push_back(&builder);
  }
  wake_.ring();
}

void Servers::close() {
  if (thread_ != nullptr) thread_->request_stop();
  wake_.ring();
}

void Servers::run(const std::stop_token& stop) {
  std::vector<pollfd> events;
  std::vector<Server*> polled;
  while (!stop.stop_requested()) {
    Clock::time_point now = Clock::now();
    {
      const std::scoped_lock lock(mutex_);
      waiting_.insert(waiting_.end(), inbox_.begin(), inbox_.end());
      inbox_.clear();
    }
    for (Server& server : servers_)
      if (server.state == State::away && now >= server.again) connect(server, now);
    hand_out(now);
    events.assign({{.fd = wake_.get(), .events = POLLIN, .revents = 0}});
    polled.clear();
    for (Server& server : servers_) {
      if (!server.connection) continue;
      const bool sends = server.state == State::connecting || server.connection->sends();
      events.push_back({.fd = server.connection->socket(),
                        .events = static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN),
                        .revents = 0});
      polled.push_back(&server);
    }
    ::poll(events.data(), events.size(), std::exchange(more_, false) ? 0 : static_cast<int>(kLongestPoll.count()));
    if (events[0].revents != 0) wake_.reset();
    now = Clock::now();
    for (std::size_t i = 0; i < polled.size(); ++i) talk(*polled[i], events[i + 1].revents, now);
  }
}

// A name may have several endpoints. Each attempt tries the next one.
void Servers::connect(Server& server, Clock::time_point now) {
  server.again = now + kAgain;
  std::string why;
  if (server.endpoints.empty()) {
    server.endpoints = resolve(server.address, why);
    server.endpoint = 0;
  }
  if (server.endpoints.empty()) {
    server.failed_once = true;
    server.again = Clock::now() + std::max<Clock::duration>(kAgain, 30 * (Clock::now() - now));  // it may take seconds
    return tell(server, why);
  }
  UnforkedDescriptor socket = connecting_to(server.endpoints[server.endpoint]);
  server.endpoint = (server.endpoint + 1) % server.endpoints.size();
  if (!socket) return lose(server, std::generic_category().message(errno));
  server.connection.emplace(std::move(socket));
  server.connection->limit(kLongestHandshake);
  server.state = State::connecting;
  server.heard = now;
}

void Servers::connected(Server& server) {
  const int error = connect_error(server.connection->socket());
  if (error != 0) return lose(server, std::generic_category().message(error));
  server.state = State::unproven;
  server.heard = Clock::now();
}

void Servers::talk(Server& server, short events, Clock::time_point now) {
  if (!server.connection) return;
  if (server.state == State::connecting && events != 0) connected(server);
  const bool waits = server.state != State::ready || !server.open.empty() || server.arriving;
  if (server.connection && server.state != State::connecting) {
    const auto failure = caught([&] {
      server.connection->flush();
      hear(server);
    });
    if (failure != nullptr) {
      const Error error = error_of(failure);
      const bool stays = error.kind() == ErrorKind::invalid_argument || error.kind() == ErrorKind::unsupported;
      return lose(server, error.cause(), server.state == State::unproven && stays);
    }
    if (server.connection && server.connection->gone()) return lose(server, "it ended the connection");
  }
  if (server.connection && waits && now - server.heard > patience_) lose(server, "it does not answer");
}

void Servers::hear(Server& server) {
  constexpr int kParts = 4;
  for (int parts = 0; parts < kParts;) {
    sharing::Connection& connection = *server.connection;
    if (server.arriving) {
      if (!receive_values(server)) return;
      ++parts;
    } else if (const auto frame = connection.next()) {
      server.heard = Clock::now();
      hear(server, *frame);
    } else if (!connection.receive_some()) {
      return;
    }
  }
  more_ = true;
}

void Servers::hear(Server& server, const sharing::Frame& frame) {
  const auto refuse = [](const char* cause) { throw Error::corrupt(cause); };
  if (frame.kind == sharing::Kind::refused) {
    if (frame.body.starts_with(kLater)) throw Error::resource(frame.body.substr(kLater.size()));
    throw Error::invalid_argument(frame.body);
  }
  if (server.state == State::unproven) {
    if (frame.kind == sharing::Kind::challenge && server.proof.empty()) {
      const Challenge challenge = Challenge::of(frame.body);
      const Request request = Request::make(token_, challenge, recipe_);
      server.proof = proof_of_server(token_, challenge, request);
      server.connection->send({.kind = sharing::Kind::request, .body = request.body()});
      return;
    }
    if (frame.kind != sharing::Kind::accepted || server.proof.empty()) refuse("it is no penstock server");
    sharing::WireReader from(frame.body);
    if (!same_secret(from.text(), server.proof)) throw Error::invalid_argument("it has another token");
    const std::uint64_t rows = from.number();  // that keep its workers busy
    const std::uint64_t batch = context_.options.batch_size;
    server.most_open = static_cast<unsigned>(2 + std::min<std::uint64_t>((2 * rows + batch - 1) / batch, 1024));
    server.connection->limit(sharing::kLongestBody);
    server.state = State::ready;
    server.failed_once = false;
    return tell(server);
  }
  if (server.open.empty()) refuse("it sends a batch without an ask");
  if (frame.kind == sharing::Kind::values) return begin_values(server, frame);
  if (frame.kind != sharing::Kind::elsewhere) refuse("it sends an unknown message");
  const Open open = server.open.front();
  if (sharing::WireReader(frame.body).number() != open.number) refuse("it answers another ask");
  server.open.pop_front();
  fill_here(*open.builder);  // a row is invalid: the error policy of this loader applies
}

void Servers::begin_values(Server& server, const sharing::Frame& frame) {
  sharing::WireReader from(frame.body);
  const ValuesHead head = read_values_head(from);
  const Open open = server.open.front();
  if (head.number != open.number) throw Error::corrupt("it answers another ask");
  Slab& slab = open.builder->slab();
  Arriving arriving{.open = open,
                    .note = std::make_unique<sharing::NotedBatch>(),
                    .places = {},
                    .wanted = head.crc32c,
                    .crc = crc32c(std::as_bytes(std::span(frame.body).subspan(kValuesHead)))};
  const std::span<const Output> outputs = context_.from.program.outputs();
  sharing::read_batch(from, outputs, context_.from.dataset.size(), {}, *arriving.note);
  if (arriving.note->samples != slab.samples || arriving.note->valid != slab.valid || !arriving.note->bad.empty())
    throw Error::corrupt("it sends other rows");
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    const std::span<std::byte> place = slab.place(i, arriving.note->fields[i]);
    if (!place.empty()) arriving.places.push_back(place);
  }
  server.open.pop_front();
  server.arriving = std::move(arriving);
}

// Returns false if no byte has arrived.
bool Servers::receive_values(Server& server) {
  Arriving& arriving = *server.arriving;
  while (arriving.place < arriving.places.size()) {
    std::span<std::byte>& place = arriving.places[arriving.place];
    const std::size_t got = server.connection->receive_values(place.first(std::min(place.size(), kAtOnce)));
    if (got == 0) return false;
    server.heard = Clock::now();
    arriving.crc = crc32c(place.first(got), arriving.crc);
    place = place.subspan(got);
    if (!place.empty()) return true;
    ++arriving.place;
  }
  if (arriving.crc != arriving.wanted) throw Error::corrupt("its values have another checksum");
  Arriving arrived = std::move(arriving);
  server.arriving.reset();
  const double took =
      std::chrono::duration<double>(server.heard - std::max(arrived.open.sent, server.answered)).count();
  server.pace = server.pace == 0 ? took : 0.8 * server.pace + 0.2 * took;
  server.answered = server.heard;
  server.silent = 0;
  {
    const std::scoped_lock lock(mutex_);
    ServerStats& told = told_[static_cast<std::size_t>(&server - servers_.data())];
    ++told.batches;
    told.bytes += arrived.note->delivered_bytes();
  }
  finish(std::move(arrived));
  return true;
}

// Completes the batch, as a worker does after the last row.
void Servers::finish(Arriving arrived) {
  BatchBuilder& builder = *arrived.open.builder;
  const auto failure = caught([&] {
    Slab& slab = builder.slab();
    for (PresentRows& marks : slab.present)
      for (PresentRows& noted : arrived.note->present)
        if (noted.output == marks.output) marks.rows = std::move(noted.rows);
    slab.mix = arrived.note->mix;
    std::ranges::fill(builder.buffered, std::uint8_t{0});
    slab.seal(builder.buffered);
  });
  if (failure != nullptr) builder.fail(0, failure);
  builder.journey = builder.journey_of(arrived.open.sent, Clock::now());
  builder.journey.finished = builder.journey.queued;
  if (builder.finish_rows(builder.units())) context_.reorder.put(builder);
}

void Servers::lose(Server& server, const std::string& why, bool for_good) {
  constexpr unsigned kMostWaits = 6;
  const Clock::time_point now = Clock::now();
  // The name is resolved again after all endpoints were tried, because it may belong to another machine then.
  if (server.state == State::connecting && server.endpoint == 0) server.endpoints.clear();
  if (!server.open.empty() || server.arriving) server.silent = std::min(server.silent + 1, kMostWaits);
  server.failed_once |= server.state != State::connecting || now - began_ >= patience_;
  server.connection.reset();
  server.proof.clear();
  server.state = for_good ? State::refused : State::away;
  server.again = now + kAgain * (1U << server.silent);
  while (!server.open.empty()) {  // the oldest first
    waiting_.push_front(server.open.back().builder);
    server.open.pop_back();
  }
  if (server.arriving) waiting_.push_front(server.arriving->open.builder);
  server.arriving.reset();
  tell(server, why);
}

bool Servers::awaited(Clock::time_point now) const {
  return now - began_ < patience_ && std::ranges::any_of(servers_, [](const Server& server) {
           return server.state != State::refused && !server.failed_once;
         });
}

void Servers::hand_out(Clock::time_point now) {
  while (!waiting_.empty()) {
    Server* best = nullptr;
    double best_due = 0;  // seconds until it would have filled one batch more
    bool ready = false;
    for (Server& server : servers_) {
      ready |= server.state == State::ready;
      const std::size_t open = server.open.size() + (server.arriving ? 1 : 0);
      if (server.state != State::ready || open >= most_open(server)) continue;
      const double due = static_cast<double>(open + 1) * std::max(server.pace, kShortestPace);
      if (best == nullptr || due < best_due) best = &server, best_due = due;
    }
    if (best == nullptr && (ready || awaited(now))) return;
    BatchBuilder& builder = *waiting_.front();
    waiting_.pop_front();
    if (builder.generation() != context_.reorder.generation()) {  // set_epoch() or a restored state came between
      if (builder.finish_rows(builder.units())) context_.reorder.put(builder);
      continue;
    }
    if (best != nullptr)
      send(*best, builder, now);
    else
      fill_here(builder);
  }
}

void Servers::send(Server& server, BatchBuilder& builder, Clock::time_point now) {
  const Slab& slab = builder.slab();
  Ask ask;
  ask.number = ++asks_;
  ask.rows.at.seed = slab.seed;
  ask.rows.at.shuffle_block = slab.shuffle_block;
  ask.rows.at.epoch = slab.epoch;
  ask.rows.at.start = slab.start;
  ask.rows.at.batch = slab.number;
  ask.rows.rows = builder.rows;
  for (std::uint32_t i = 0; i < slab.rows; ++i) {
    ask.rows.rows[i].sample = slab.samples[i];
    ask.rows.rows[i].occurrence = slab.occurrences[i];
  }
  if (server.open.empty() && !server.arriving) server.heard = now;
  server.open.push_back({.number = ask.number, .builder = &builder, .sent = now});
  sharing::WireWriter to;
  write(to, ask);
  server.connection->send({.kind = sharing::Kind::rows, .body = to.take()});
}

// A part of the values may have arrived, so the rows get their places again.
void Servers::fill_here(BatchBuilder& builder) {
  {
    const std::scoped_lock lock(mutex_);
    ++filled_here_;
  }
  const auto failure = caught([&] { name_rows(builder, context_, position_of(builder.slab())); });
  if (failure == nullptr) return fill_by_workers(builder, context_);
  builder.fail(0, failure);
  if (builder.finish_rows(builder.units())) context_.reorder.put(builder);
}

void Servers::tell(const Server& server, const std::string& problem) {
  const std::scoped_lock lock(mutex_);
  ServerStats& told = told_[static_cast<std::size_t>(&server - servers_.data())];
  told.ready = server.state == State::ready;
  told.problem = problem;
}

std::vector<ServerStats> Servers::report() const {
  const std::scoped_lock lock(mutex_);
  return told_;
}

ServedStats Servers::counts() const {
  const std::scoped_lock lock(mutex_);
  ServedStats counts{.filled_without_server = filled_here_};
  for (const ServerStats& server : told_) {
    counts.ready += server.ready ? 1 : 0;
    counts.batches += server.batches;
    counts.bytes += server.bytes;
  }
  return counts;
}

}  // namespace penstock::asking
