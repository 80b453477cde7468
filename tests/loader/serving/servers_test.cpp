// Tests loaders whose batches are filled by servers. A plain loader with the same options is the reference.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <loader/asking/handshake.hpp>
#include <loader/asking/request.hpp>
#include <loader/asking/tcp.hpp>
#include <loader/sharing/wire.hpp>
#include <penstock/batch_server.hpp>
#include <penstock/image.hpp>
#include <penstock/loader.hpp>

#include "support/mixed_data.hpp"
#include "support/thread_count.hpp"

namespace penstock::test::servers_test {
namespace {

using std::chrono::milliseconds;

constexpr const char* kToken = "a token of the tests";

BatchServer server(const MixedData& data, const std::string& address = "127.0.0.1:0") {
  return BatchServer({data.dataset()}, {.address = address, .token = kToken, .workers = 2, .patience = 60});
}

LoaderOptions served(std::vector<std::string> addresses, LoaderOptions options = mixed_options()) {
  options.servers = {.addresses = std::move(addresses), .token = kToken, .patience = 30};  // also on a busy machine
  return options;
}

// Passes bytes between a loader and a server, and lets a test change those of the server.
class Between {
 public:
  using Change = std::function<void(std::span<char> bytes, std::uint64_t before)>;
  Between(const std::string& server, Change change) : server_(server), change_(std::move(change)) {}
  std::string address() const { return "127.0.0.1:" + std::to_string(asking::port_of(listens_.get())); }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Guest guest = asking::next_client(listens_.get());
      if (guest.socket) pass(guest.socket.get(), stop);
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  void pass(int client, const std::stop_token& stop) {
    std::string why;
    const auto ends = asking::resolve(asking::parse_address(server_), why);
    const UnforkedDescriptor other = asking::connecting_to(ends.front());
    std::uint64_t passed = 0;
    std::vector<char> bytes(1 << 16);
    std::array<pollfd, 2> events{pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                 pollfd{.fd = other.get(), .events = POLLIN, .revents = 0}};
    while (!stop.stop_requested()) {
      ::poll(events.data(), events.size(), 10);
      for (std::size_t i = 0; i < 2; ++i) {
        if (events[i].revents == 0) continue;
        const ssize_t got = ::recv(events[i].fd, bytes.data(), bytes.size(), 0);
        if (got <= 0) return;
        if (i == 1) {
          change_(std::span(bytes).first(static_cast<std::size_t>(got)), passed);
          passed += static_cast<std::uint64_t>(got);
        }
        for (ssize_t sent = 0; sent < got;) {
          const ssize_t more =
              ::send(events[1 - i].fd, bytes.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
          if (more > 0) sent += more;
          if (more < 0 && errno != EAGAIN) return;
        }
      }
    }
  }

  const std::string server_;
  const Change change_;
  const UnforkedDescriptor listens_ = asking::listening_at({.host = "127.0.0.1", .port = "0"});
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

// A connection of somebody who is no loader.
UnforkedDescriptor stranger(const std::string& address) {
  std::string why;
  UnforkedDescriptor socket = asking::connecting_to(asking::resolve(asking::parse_address(address), why).front());
  pollfd event{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  REQUIRE(::poll(&event, 1, 2000) == 1);
  return socket;
}

void send_all(int socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t more = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (more < 0 && errno != EAGAIN) return;
    if (more > 0) sent += static_cast<std::size_t>(more);
  }
}

bool ended(int socket) {
  std::array<char, 4096> bytes{};
  for (int i = 0; i < 200; ++i) {
    pollfd event{.fd = socket, .events = POLLIN, .revents = 0};
    ::poll(&event, 1, 50);
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("servers fill batches with the bytes of a plain loader") {
  const MixedData data(30);
  for (const int count : {1, 2, 5}) {
    CAPTURE(count);
    std::vector<BatchServer> servers;
    std::vector<std::string> addresses;
    for (int i = 0; i < count; ++i) addresses.push_back(servers.emplace_back(server(data)).address());
    Loader loader(data.dataset(), served(addresses));
    CHECK(epochs(loader, 3) == expected(data, 3));
    const Stats stats = loader.stats();
    CHECK(stats.served.filled_without_server == 0);
    std::uint64_t batches = 0;
    for (const ServerStats& each : stats.servers) batches += each.batches;
    CHECK(batches >= 3 * loader.batches());
  }
}

TEST_CASE("servers fill batches of every kind") {
  const MixedData data(30);
  const BatchServer fills = server(data);
  const auto check = [&](const std::string& kind, const std::function<void(LoaderOptions&)>& set) {
    CAPTURE(kind);
    LoaderOptions options = mixed_options();
    set(options);
    const auto wanted = expected(data, 2, options);
    Loader loader(data.dataset(), served({fills.address()}, options));
    CHECK(epochs(loader, 2) == wanted);
    CHECK(loader.stats().served.filled_without_server == 0);
    CHECK(loader.stats().servers[0].problem == "");
  };
  check("in order", [](LoaderOptions& options) { options.shuffle = false; });
  check("rank", [](LoaderOptions& options) { options.rank = 1, options.world_size = 3; });
  check("padded last batch", [](LoaderOptions& options) { options.last_batch = Last::pad; });
  check("subset", [](LoaderOptions& options) { options.subset = {{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}}; });
  check("mixup", [](LoaderOptions& options) {
    options.transforms = {{"jpg", image::random_resized_crop(24) | image::normalize({0.5F, 0.5F, 0.5F}, {1, 1, 1})},
                          {"cls", label()}};
    options.mix = {mixup(0.2, 3)};
  });
  check("images of their own size", [](LoaderOptions& options) {
    options.transforms = {{"jpg", image::decode(false, false, true)}, {"cls", label()}};
  });
  check("padded rows", [](LoaderOptions& options) {
    options.transforms = {
        {"num", field("num.txt") | array::decode({.dtype = DType::i32, .ragged = true, .shape = Shape{}}) |
                    pad(0, {.multiple_of = 4, .value = -1})},
        {"cls", label()}};
  });
  check("filled rows", [](LoaderOptions& options) {
    options.transforms = {{"id", label()}, {"cls", label()}};
    options.missing = std::int64_t{-100};
  });
  check("excluded samples", [](LoaderOptions& options) {
    options.transforms = {{"id", label()}, {"cls", label()}};
    options.missing = Missing::exclude;
  });
  check("marked", [](LoaderOptions& options) { options.on_error = OnError::mark; });
  check("replaced", [](LoaderOptions& options) { options.on_error = OnError::replace; });
  check("shared", [](LoaderOptions& options) { options.sharing.name = "served-" + std::to_string(::getpid()); });
}

TEST_CASE("an invalid sample is treated as without servers") {
  const MixedData data(30);
  write_file(data.folder / "data" / (number_key(17) + ".jpg"), "no picture");
  const BatchServer fills = server(data);
  for (const OnError policy : {OnError::mark, OnError::replace}) {
    LoaderOptions options = mixed_options();
    options.on_error = policy;
    Loader loader(data.dataset(), served({fills.address()}, options));
    CHECK(epochs(loader, 2) == expected(data, 2, options));
    CHECK(loader.stats().served.filled_without_server >= 2);  // of two epochs, and of batches ahead
    CHECK(loader.stats().servers[0].batches > 0);
  }
  Loader raises(data.dataset(), served({fills.address()}));
  const auto all = [&] {
    while (raises.next()) continue;
  };
  CHECK_THROWS_WITH_AS(all(), doctest::Contains(number_key(17).c_str()), Error);
}

TEST_CASE("if servers end, others fill the batches, or the loader does, and no byte changes") {
  const MixedData data(60);
  auto first = std::make_optional(server(data)), second = std::make_optional(server(data));
  Loader loader(data.dataset(), served({first->address(), second->address()}));
  Loader reference(data.dataset(), mixed_options());
  const std::string address = second->address();
  // Takes epochs until it is so. A loader has several epochs of these ahead.
  const auto take_until = [&](const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    do {
      REQUIRE(epochs(loader, 1) == epochs(reference, 1));
      std::this_thread::sleep_for(milliseconds(20));
    } while (!is_so() && std::chrono::steady_clock::now() < end);
    CHECK(is_so());
  };
  CHECK(loader.next().has_value());
  CHECK(reference.next().has_value());
  first.reset();
  take_until([&] { return !loader.stats().servers[0].problem.empty(); });
  CHECK(loader.stats().served.filled_without_server == 0);
  second.reset();
  take_until([&] { return loader.stats().served.filled_without_server > 0; });
  second.emplace(server(data, address));
  take_until([&] { return second->stats().batches > 0; });
}

TEST_CASE("without any server, the loader fills its batches and says why") {
  const MixedData data(12);
  const UnforkedDescriptor nobody = asking::listening_at({.host = "127.0.0.1", .port = "0"});
  const std::string silent = "127.0.0.1:" + std::to_string(asking::port_of(nobody.get()));
  LoaderOptions options = served({"127.0.0.1:1", "no-such-host.invalid:7710", silent});
  options.servers.patience = 1;
  Loader loader(data.dataset(), options);
  CHECK(epochs(loader, 1) == expected(data, 1));
  Stats stats = loader.stats();
  REQUIRE(stats.servers.size() == 3);
  for (int i = 0; i < 1000 && stats.servers[2].problem.empty(); ++i) {  // its silence may be noticed a little later
    std::this_thread::sleep_for(milliseconds(10));
    stats = loader.stats();
  }
  CHECK(stats.servers[0].problem == "Connection refused");
  CHECK_FALSE(stats.servers[1].problem.empty());
  CHECK(stats.servers[2].problem == "it does not answer");
  CHECK(stats.served.filled_without_server >= 3);
}

TEST_CASE("a server refuses loaders with another token or dataset, and they say why") {
  const MixedData data(12), other(13);
  const BatchServer fills = server(data);
  LoaderOptions wrong = served({fills.address()});
  wrong.servers.token = "another token of the tests";
  Loader guesses(data.dataset(), wrong);
  CHECK(epochs(guesses, 1) == expected(data, 1));
  CHECK(guesses.stats().servers[0].problem == "the server has another token");
  Loader strays(other.dataset(), served({fills.address()}));
  CHECK(epochs(strays, 1) == expected(other, 1));
  const std::string lacks = "the server does not have this dataset, or has other classes, keys or values";
  CHECK(strays.stats().servers[0].problem == lacks);
  // Other values under the same keys.
  const MixedData changed(12);
  write_file(changed.folder / "data" / (number_key(3) + ".txt"), "another text");
  Loader differs(changed.dataset(), served({fills.address()}));
  CHECK(epochs(differs, 1) == expected(changed, 1));
  CHECK(differs.stats().servers[0].problem == lacks);
  CHECK(fills.stats().refused == 3);
  CHECK(fills.stats().batches == 0);
}

TEST_CASE("a sample that must not be read is not read by a server") {
  const MixedData data(30);
  const BatchServer fills = server(data);
  LoaderOptions options = mixed_options();
  options.on_error = OnError::mark;
  options.read_options.unreadable = {number_key(17)};
  Loader loader(data.dataset(), served({fills.address()}, options));
  CHECK(epochs(loader, 2) == expected(data, 2, options));
  CHECK(loader.stats().servers[0].batches > 0);
}

TEST_CASE("a loader waits for a server that begins to listen within its patience") {
  const MixedData data(30);
  const std::string address = server(data).address();  // of a server that has ended
  std::optional<BatchServer> late;
  std::jthread starts([&] {
    std::this_thread::sleep_for(milliseconds(300));
    late.emplace(server(data, address));
  });
  Loader loader(data.dataset(), served({address}));
  CHECK(epochs(loader, 2) == expected(data, 2));
  CHECK(loader.stats().served.filled_without_server == 0);
  starts.join();
}

TEST_CASE("a loader with a timeout fills batches itself before the timeout") {
  const MixedData data(12);
  const UnforkedDescriptor nobody = asking::listening_at({.host = "127.0.0.1", .port = "0"});
  LoaderOptions options = served({"127.0.0.1:" + std::to_string(asking::port_of(nobody.get()))});
  options.servers.patience = 100;
  options.timeout = milliseconds(8000);
  Loader loader(data.dataset(), options);
  CHECK(epochs(loader, 1) == expected(data, 1));
}

TEST_CASE("a loader does not believe a process that does not know the token") {
  const MixedData data(12);
  BatchServer fills({data.dataset()}, {.token = "another token of the tests"});
  // It accepts every loader, as a process could that took the port of a server.
  const UnforkedDescriptor listens = asking::listening_at({.host = "127.0.0.1", .port = "0"});
  const std::jthread lies([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Guest guest = asking::next_client(listens.get());
      std::this_thread::sleep_for(milliseconds(1));
      if (!guest.socket) continue;
      sharing::Connection connection(std::move(guest.socket));
      connection.send({.kind = sharing::Kind::challenge, .body = asking::Challenge::make().body()});
      sharing::WireWriter to;
      to.text(std::string(32, 'x'));
      to.number(2);
      while (connection.receive() && !connection.next()) std::this_thread::sleep_for(milliseconds(1));
      connection.send({.kind = sharing::Kind::accepted, .body = to.take()});
      std::this_thread::sleep_for(milliseconds(50));
    }
  });
  Loader loader(data.dataset(), served({"127.0.0.1:" + std::to_string(asking::port_of(listens.get()))}));
  CHECK(epochs(loader, 1) == expected(data, 1));
  CHECK(loader.stats().servers[0].problem == "it has another token");
}

TEST_CASE("values with a wrong checksum are not used") {
  const MixedData data(30);
  const BatchServer fills = server(data);
  const Between between(fills.address(), [](std::span<char> bytes, std::uint64_t before) {
    constexpr std::uint64_t kChanged = 40000;
    if (before <= kChanged && kChanged < before + bytes.size()) bytes[kChanged - before] ^= 1;
  });
  Loader loader(data.dataset(), served({between.address()}));
  CHECK(epochs(loader, 3) == expected(data, 3));
  CHECK(loader.stats().served.filled_without_server > 0);
}

TEST_CASE("strangers cannot disturb a server") {
  const MixedData data(30);
  const BatchServer fills({data.dataset()}, {.token = kToken, .workers = 2, .most_connections = 40});
  std::vector<UnforkedDescriptor> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(stranger(fills.address()));
  for (const std::string& bytes :
       {std::string(100, 'x'), std::string(100, '\0'), std::string("\x0c\0\0\0\xff\xff\xff\x7f", 8),
        std::string("GET / HTTP/1.1\r\n\r\n")}) {
    const UnforkedDescriptor speaks = stranger(fills.address());
    send_all(speaks.get(), bytes);
    ::shutdown(speaks.get(), SHUT_WR);
    CHECK(ended(speaks.get()));
  }
  Loader loader(data.dataset(), served({fills.address()}));
  CHECK(epochs(loader, 1) == expected(data, 1));
  CHECK(loader.stats().served.filled_without_server == 0);
  for (int i = 0; i < 30; ++i) silent.push_back(stranger(fills.address()));
  std::this_thread::sleep_for(milliseconds(100));
  CHECK(fills.stats().connections <= 40);
}

TEST_CASE("messages that are not what they say end a connection") {
  const MixedData data(30);
  asking::Ask ask;
  ask.number = 7;
  ask.rows.at.epoch = 2;
  ask.rows.rows = {{.sample = 4, .position = 9, .valid = true}};
  const auto written = [](const asking::Ask& of) {
    sharing::WireWriter to;
    write(to, of);
    return to.take();
  };
  const std::string good = written(ask);
  sharing::WireReader from(good);
  const asking::Ask read = asking::read_ask(from, 4, 30);
  CHECK(read.number == 7);
  CHECK(read.rows.at.epoch == 2);
  CHECK(read.rows.rows == ask.rows.rows);
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    sharing::WireReader part(std::string_view(good).substr(0, bytes));
    CHECK_THROWS_AS(asking::read_ask(part, 4, 30), Error);
  }
  sharing::WireReader lacks(good);
  CHECK_THROWS_AS(asking::read_ask(lacks, 4, 4), Error);  // sample 4 of 4
  ask.rows.rows.assign(5, ask.rows.rows.front());
  const std::string many = written(ask);
  sharing::WireReader more(many);
  CHECK_THROWS_AS(asking::read_ask(more, 4, 30), Error);

  const asking::Recipe recipe =
      asking::Recipe::of(data.dataset(), mixed_options(), mixed_options().transforms, "version");
  const std::string text = recipe.text();
  CHECK(asking::Recipe::parse(text).text() == text);
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes)
    CHECK_THROWS_AS(asking::Recipe::parse(std::string_view(text).substr(0, bytes)), Error);
}

TEST_CASE("addresses and tokens are checked") {
  const MixedData data(4);
  CHECK(asking::parse_address("[::1]:80").host == "::1");
  for (const char* wrong : {"", "node", "node:", ":80", "node:x", "node:70000", "node:80x"})
    CHECK_THROWS_WITH_AS(asking::parse_address(wrong), doctest::Contains("HOST:PORT"), Error);
  LoaderOptions options = served({"node"});
  CHECK_THROWS_WITH_AS(Loader(data.dataset(), options), doctest::Contains("HOST:PORT"), Error);
  options = served({"127.0.0.1:80"});
  options.servers.token = "short";
  CHECK_THROWS_WITH_AS(Loader(data.dataset(), options), doctest::Contains("16 characters"), Error);
  ::unsetenv("PENSTOCK_TOKEN");
  options.servers.token.clear();
  CHECK_THROWS_WITH_AS(Loader(data.dataset(), options), doctest::Contains("PENSTOCK_TOKEN"), Error);
  CHECK_THROWS_WITH_AS(BatchServer({data.dataset()}), doctest::Contains("PENSTOCK_TOKEN"), Error);
}

TEST_CASE("a server and a loader end their threads") {
  const MixedData data(30);
  const auto threads = thread_count();
  {
    const BatchServer fills = server(data);
    Loader loader(data.dataset(), served({fills.address(), "127.0.0.1:1"}));
    CHECK(loader.next().has_value());
  }
  CHECK(threads_down_to(threads) == threads);
}

}  // namespace penstock::test::servers_test
