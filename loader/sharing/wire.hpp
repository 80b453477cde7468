// The messages between a hub and its consumers. A frame has a kind, a body and descriptors:
//
//   u32 kind, u32 length of the body, u32 descriptors beside it, u32 zero, body.
//
// Between machines, the values of a batch follow its frame as they are.
//
// All numbers are little-endian. Every length is checked before it is used, so a wrong message ends the connection and
// nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <base/unforked.hpp>

namespace penstock::sharing {

inline constexpr std::uint64_t kVersion = 1;               ///< of the messages; a hub refuses other versions
inline constexpr std::uint32_t kLongestBody = 64U << 20U;  ///< bytes
inline constexpr std::uint32_t kMostDescriptors = 128;     ///< beside a frame; the system allows 253

enum class Kind : std::uint32_t {
  // of a consumer
  hello = 1,  ///< the consumer joins
  ask,        ///< wants the batch at a position.
  release,    ///< does not use a batch any more.
  more,       ///< keeps more batches at a time.
  // of a hub
  welcome,    ///< the consumer belongs to it.
  refused,    ///< the consumer loads something else. The body names the hub's.
  batch,      ///< the batch.
  patience,   ///< the batch is not ready yet. Sent each second.
  elsewhere,  ///< has no such batch, so the consumer builds it itself.
  // between machines (loader/asking/handshake.hpp, loader/asking/request.hpp)
  challenge,  ///< begins the handshake.
  request,    ///< authenticates the client, and contains the recipe of all rows.
  accepted,   ///< authenticates the server.
  rows,       ///< the samples of a batch that a client needs.
  values,     ///< the batch. Its values follow the frame.
  // of both
  recipe,  ///< asks for the arguments that another process needs to join, or contains them.
};

/// Appends values to the body of a frame.
class WireWriter {
 public:
  void number(std::uint64_t value);
  void real(double value);
  void text(std::string_view value);
  template <typename T>
  void numbers(std::span<const T> values) {
    number(values.size());
    append(values.data(), values.size_bytes());
  }
  std::string take() { return std::move(body_); }

 private:
  void append(const void* bytes, std::size_t count);
  std::string body_;
};

/// Takes values from the body of a frame. Each function throws Error: corrupt, if the body ends before the value.
class WireReader {
 public:
  explicit WireReader(std::string_view body) : left_(body) {}
  std::uint64_t number();
  std::uint32_t small();  ///< throws Error: corrupt, if the number has more than 32 bits
  bool flag();            ///< throws Error: corrupt, if the number is neither 0 nor 1
  double real();
  std::string text();
  /// Throws Error: corrupt, also if there are more than `most`.
  template <typename T>
  std::vector<T> numbers(std::uint64_t most) {
    const std::uint64_t count = number();
    if (count > most || count > left_.size() / sizeof(T)) overrun();
    std::vector<T> values(static_cast<std::size_t>(count));
    copy(values.data(), values.size() * sizeof(T));
    return values;
  }
  bool done() const { return left_.empty(); }

 private:
  [[noreturn]] static void overrun();
  std::uint64_t number_up_to(std::uint64_t most);
  void copy(void* to, std::size_t count);
  std::string_view left_;
};

struct Frame {
  Kind kind{};
  std::string body = {};
  std::vector<UnforkedDescriptor> descriptors = {};  ///< received ones
  std::vector<int> beside = {};                      ///< descriptors to send; they belong to the sender
};

/// One end of a connection between two processes of this user, in either direction. Used by one thread at a time.
class Connection {
 public:
  explicit Connection(UnforkedDescriptor socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.get(); }
  /// The largest body that the other end may send.
  void limit(std::uint32_t longest_body) { longest_body_ = longest_body; }
  /// Queues a frame and sends what the system takes at once.
  void send(const Frame& frame);
  /// Queues bytes that follow a frame, and sends what the system takes. `owner` keeps them until they are sent.
  void send_values(std::span<const std::byte> values, std::shared_ptr<const void> owner);
  bool sends() const { return !out_.empty(); }  ///< whether send() has left something, which flush() sends
  void flush();
  std::uint64_t sent() const { return sent_; }  ///< bytes, since the beginning
  /// Receives what has arrived. Returns false once the other end is closed, or if it sends something else than frames.
  bool receive();
  /// Receives once, 64 KiB at most. Returns false if nothing has arrived.
  bool receive_some();
  /// Receives bytes that follow the last frame. Returns how many have arrived.
  std::size_t receive_values(std::span<std::byte> to);
  /// Takes bytes as if they had arrived, without descriptors. For tests.
  void take(std::string_view bytes) { in_ += bytes; }
  /// Returns the next whole frame, or nothing.
  std::optional<Frame> next();
  bool gone() const { return gone_; }
  void end() { gone_ = true; }

 private:
  struct Out {
    std::span<const char> left() const {
      const std::span<const char> all =
          owner != nullptr ? std::span(reinterpret_cast<const char*>(values.data()), values.size()) : std::span(bytes);
      return all.subspan(sent);
    }
    std::string bytes;
    std::vector<int> beside = {};
    std::span<const std::byte> values = {};
    std::shared_ptr<const void> owner = {};  // of the values; null: bytes
    std::size_t sent = 0;
  };
  void passed(std::size_t count);

  UnforkedDescriptor socket_;
  std::deque<Out> out_;
  std::string in_;
  std::size_t read_ = 0;  // bytes of in_ that next() has taken
  std::uint32_t longest_body_ = kLongestBody;
  std::uint64_t sent_ = 0;
  std::deque<UnforkedDescriptor> arrived_;
  bool gone_ = false;
};

}  // namespace penstock::sharing
