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

#include <bench/measure/bandwidth.hpp>
#include <bench/measure/stopwatch.hpp>
#include <bench/measure/units.hpp>
#include <formats/io/descriptor.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Returns a result that is not negative. Throws Error: io.
int require(int result) {
  if (result < 0) throw Error::io(errno, "a TCP connection to 127.0.0.1 failed");
  return result;
}

Descriptor tcp_socket() {
  return Descriptor(require(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

// The answers of the store, which come from its threads.
struct Answers {
  std::mutex mutex;  // guards all
  std::condition_variable changed;
  std::vector<std::uint64_t> answered;
  std::exception_ptr failure;
};

}  // namespace

Bandwidth loopback_bandwidth(const BandwidthOptions& options) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const Descriptor listener = tcp_socket(), sender = tcp_socket();
  require(::bind(listener.get(), generic, length));
  require(::listen(listener.get(), 1));
  require(::getsockname(listener.get(), generic, &length));
  require(::connect(sender.get(), generic, length));
  const Descriptor receiver(require(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  constexpr std::size_t kPart = std::size_t{256} << 10;
  const std::jthread sending([&](const std::stop_token& stop) {
    const std::vector<std::byte> part(kPart, std::byte{1});
    while (!stop.stop_requested() && ::send(sender.get(), part.data(), part.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  // Wakes the sender, also after an exception. Closing the other end would not, while its window is full.
  struct Shut {
    const Descriptor& socket;
    ~Shut() { ::shutdown(socket.get(), SHUT_RDWR); }
  } const shut{sender};
  std::vector<std::byte> part(kPart);
  std::uint64_t bytes = 0;
  const Stopwatch watch(options.time, options.keep_going);
  while (!watch.over()) {
    const ssize_t got = ::recv(receiver.get(), part.data(), part.size(), 0);
    if (got <= 0) throw Error::io(errno, "a TCP connection to 127.0.0.1 failed");
    bytes += static_cast<std::uint64_t>(got);
  }
  return {static_cast<double>(bytes) / watch.seconds(), "one TCP connection on 127.0.0.1"};
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
  const std::chrono::milliseconds time = 4 * options.time;  // The first response may be slow.
  const Stopwatch watch(time, options.keep_going);
  for (std::uint64_t slot = 0; slot < slots; ++slot) ask(slot);
  double last = 0;  // seconds until the last answer
  while (!watch.over()) {
    std::vector<std::uint64_t> done;
    {
      std::unique_lock lock(answers.mutex);
      answers.changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return !answers.answered.empty(); });
      if (answers.failure) std::rethrow_exception(answers.failure);
      done.swap(answers.answered);
    }
    for (const std::uint64_t slot : done) {
      bytes += lengths[slot];
      last = watch.seconds();
      ask(slot);
    }
  }
  reader->stop();
  if (bytes == 0) return {.how = "no answer within " + std::to_string(time.count()) + " ms"};
  return {static_cast<double>(bytes) / last,
          std::to_string(slots) + " requests of up to " + bytes_text(kPart) + " at a time"};
}

}  // namespace penstock
