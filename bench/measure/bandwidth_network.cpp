#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bench/measure/bandwidth.hpp>
#include <bench/measure/units.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {
    if (fd < 0) throw Error::io(errno, "a TCP connection to 127.0.0.1 failed");
  }
  ~Socket() { ::close(fd_); }
  Socket(Socket&&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

struct Loopback {
  Socket listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};

  Loopback() {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    require(::bind(listener.fd(), generic, length));
    require(::listen(listener.fd(), 1));
    require(::getsockname(listener.fd(), generic, &length));
  }
  static void require(int result) {
    if (result != 0) throw Error::io(errno, "a TCP connection to 127.0.0.1 failed");
  }
};

// The answers of the store, which come from its threads.
struct Answers {
  std::mutex mutex;  // guards all
  std::condition_variable changed;
  std::vector<std::uint64_t> answered;
  std::exception_ptr failure;
};

}  // namespace

Bandwidth loopback_bandwidth(const BandwidthOptions& options) {
  const Loopback server;
  const Socket sender(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Loopback::require(::connect(sender.fd(), reinterpret_cast<const sockaddr*>(&server.address), sizeof(server.address)));
  const Socket receiver(::accept4(server.listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  constexpr std::size_t kPart = std::size_t{256} << 10;
  const std::jthread sending([&](const std::stop_token& stop) {
    const std::vector<std::byte> part(kPart, std::byte{1});
    while (!stop.stop_requested() && ::send(sender.fd(), part.data(), part.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  // Wakes the sender, also after an exception. Closing the other end would not, while its window is full.
  struct Shut {
    const Socket& socket;
    ~Shut() { ::shutdown(socket.fd(), SHUT_RDWR); }
  } const shut{sender};
  std::vector<std::byte> part(kPart);
  std::uint64_t bytes = 0;
  const auto begin = Clock::now();
  while (Clock::now() - begin < options.time) {
    if (options.keep_going && !options.keep_going()) throw Error::resource("interrupted");
    const ssize_t got = ::recv(receiver.fd(), part.data(), part.size(), 0);
    if (got <= 0) throw Error::io(errno, "a TCP connection to 127.0.0.1 failed");
    bytes += static_cast<std::uint64_t>(got);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return {static_cast<double>(bytes) / seconds, "one TCP connection on 127.0.0.1"};
}

Bandwidth store_bandwidth(std::span<const std::shared_ptr<const StoredObject>> objects,
                          const BandwidthOptions& options) {
  constexpr std::uint64_t kPart = std::uint64_t{4} << 20;
  struct Part {
    std::shared_ptr<const StoredObject> object;
    std::uint64_t offset, length;
  };
  std::vector<Part> parts;
  for (const auto& object : objects)
    for (std::uint64_t offset = 0; offset < object->info.size && parts.size() < 4096; offset += kPart)
      parts.push_back({object, offset, std::min(kPart, object->info.size - offset)});
  if (parts.empty()) return {.how = "no object to read"};
  const std::size_t slots = std::clamp<std::size_t>(options.memory / kPart, 1, std::min<std::size_t>(16, parts.size()));

  std::vector<std::byte> memory(slots * kPart);
  std::vector<std::uint64_t> lengths(slots);
  Answers answers;
  const auto reader = object_store().reader([&](std::uint64_t tag, std::exception_ptr failure) {
    const std::lock_guard lock(answers.mutex);
    answers.answered.push_back(tag);
    if (failure) answers.failure = std::move(failure);
    answers.changed.notify_one();
  });
  std::uint64_t next = 0, bytes = 0;
  const auto ask = [&](std::uint64_t slot) {
    const Part& part = parts[next++ % parts.size()];
    lengths[slot] = part.length;
    std::vector<RangeRead> reads;
    reads.push_back({part.object,
                     {{part.offset, std::span(memory).subspan(slot * kPart, static_cast<std::size_t>(part.length))}},
                     slot});
    reader->submit(std::move(reads));
  };
  const auto begin = Clock::now();
  const auto limit = begin + options.time * 4;
  for (std::uint64_t slot = 0; slot < slots; ++slot) ask(slot);
  auto last = begin;
  while (Clock::now() < limit) {
    if (options.keep_going && !options.keep_going()) throw Error::resource("interrupted");
    std::vector<std::uint64_t> done;
    {
      std::unique_lock lock(answers.mutex);
      answers.changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return !answers.answered.empty(); });
      if (answers.failure) std::rethrow_exception(answers.failure);
      done.swap(answers.answered);
    }
    for (const std::uint64_t slot : done) {
      bytes += lengths[slot];
      last = Clock::now();
      ask(slot);
    }
  }
  reader->stop();
  if (bytes == 0) return {.how = "no answer within " + std::to_string(4 * options.time.count()) + " ms"};
  return {static_cast<double>(bytes) / std::chrono::duration<double>(last - begin).count(),
          std::to_string(slots) + " requests of up to " + bytes_text(kPart) + " at a time"};
}

}  // namespace penstock
