#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>

#include <loader/sharing/wire.hpp>
#include <penstock/error.hpp>

namespace penstock::sharing {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10U;

struct Head {
  std::uint32_t kind, length, descriptors, zero;
};

}  // namespace

void WireWriter::append(const void* bytes, std::size_t count) {
  body_.append(static_cast<const char*>(bytes), count);
}

void WireWriter::number(std::uint64_t value) {
  append(&value, sizeof value);
}

void WireWriter::real(double value) {
  append(&value, sizeof value);
}

void WireWriter::text(std::string_view value) {
  number(value.size());
  append(value.data(), value.size());
}

void WireReader::overrun() {
  throw Error::corrupt("a message of another process is shorter or longer than it says");
}

void WireReader::copy(void* to, std::size_t count) {
  if (count > left_.size()) overrun();
  if (count != 0) std::memcpy(to, left_.data(), count);
  left_.remove_prefix(count);
}

std::uint64_t WireReader::number() {
  std::uint64_t value = 0;
  copy(&value, sizeof value);
  return value;
}

std::uint64_t WireReader::number_up_to(std::uint64_t most) {
  const std::uint64_t value = number();
  if (value > most) throw Error::corrupt("a message of another process has a number that is too large");
  return value;
}

std::uint32_t WireReader::small() {
  return static_cast<std::uint32_t>(number_up_to(UINT32_MAX));
}

bool WireReader::flag() {
  return number_up_to(1) == 1;
}

double WireReader::real() {
  return std::bit_cast<double>(number());
}

std::string WireReader::text() {
  const std::uint64_t length = number();
  if (length > left_.size()) overrun();
  std::string value(left_.substr(0, static_cast<std::size_t>(length)));
  left_.remove_prefix(static_cast<std::size_t>(length));
  return value;
}

void Connection::send(const Frame& frame) {
  const Head head{static_cast<std::uint32_t>(frame.kind), static_cast<std::uint32_t>(frame.body.size()),
                  static_cast<std::uint32_t>(frame.beside.size()), 0};
  Out out{.bytes = std::string(sizeof head, '\0') + frame.body, .beside = frame.beside};
  std::memcpy(out.bytes.data(), &head, sizeof head);
  out_.push_back(std::move(out));
  flush();
}

void Connection::send_values(std::span<const std::byte> values, std::shared_ptr<const void> owner) {
  if (!values.empty()) out_.push_back({.bytes = {}, .values = values, .owner = std::move(owner)});
  flush();
}

// Descriptors travel with the first bytes of their frame. Source: cmsg(3).
void Connection::flush() {
  while (!gone_ && !out_.empty()) {
    Out& out = out_.front();
    const std::span<const char> left = out.left();
    iovec part{.iov_base = const_cast<char*>(left.data()), .iov_len = left.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> beside{};
    if (out.sent == 0 && !out.beside.empty()) {
      const std::size_t bytes = out.beside.size() * sizeof(int);
      message.msg_control = beside.data();
      message.msg_controllen = CMSG_SPACE(bytes);
      cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(bytes);
      std::memcpy(CMSG_DATA(head), out.beside.data(), bytes);
    }
    const ssize_t sent = ::sendmsg(socket(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == ETOOMANYREFS)) return;
    if (sent < 0) {
      gone_ = true;
      return;
    }
    out.sent += static_cast<std::size_t>(sent);
    sent_ += static_cast<std::uint64_t>(sent);
    if (out.left().empty()) out_.pop_front();
  }
}

bool Connection::receive() {
  while (receive_some()) {
  }
  return !gone_;
}

bool Connection::receive_some() {
  if (gone_) return false;
  const std::size_t had = in_.size();
  in_.resize(had + kReadAtOnce);
  iovec part{.iov_base = in_.data() + had, .iov_len = kReadAtOnce};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> beside{};
  message.msg_control = beside.data();
  message.msg_controllen = beside.size();
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const int why = errno;
  in_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && why == EAGAIN) return false;
  for (cmsghdr* head = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof descriptor);
      arrived_.emplace_back([descriptor] { return descriptor; });
    }
  }
  if (got <= 0 || (message.msg_flags & MSG_CTRUNC) != 0) gone_ = true;
  return !gone_;
}

std::size_t Connection::receive_values(std::span<std::byte> to) {
  const std::size_t had = std::min(to.size(), in_.size() - read_);
  if (had != 0) {
    std::memcpy(to.data(), in_.data() + read_, had);
    passed(had);
    return had;
  }
  if (gone_ || to.empty()) return 0;
  ssize_t got = -1;
  do {
    got = ::recv(socket(), to.data(), to.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got == 0 || (got < 0 && errno != EAGAIN)) gone_ = true;
  return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
}

// Forgets bytes that have been taken.
void Connection::passed(std::size_t count) {
  read_ += count;
  if (read_ == in_.size()) {
    in_.clear();
    read_ = 0;
  } else if (read_ > kReadAtOnce) {
    in_.erase(0, read_);
    read_ = 0;
  }
}

std::optional<Frame> Connection::next() {
  Head head{};
  const std::size_t there = in_.size() - read_;
  if (there < sizeof head) return std::nullopt;
  std::memcpy(&head, in_.data() + read_, sizeof head);
  if (head.length > longest_body_ || head.descriptors > kMostDescriptors || head.zero != 0) {
    gone_ = true;
    return std::nullopt;
  }
  if (there < sizeof head + head.length) return std::nullopt;
  if (arrived_.size() < head.descriptors) {
    gone_ = true;
    return std::nullopt;
  }
  Frame frame{.kind = static_cast<Kind>(head.kind), .body = in_.substr(read_ + sizeof head, head.length)};
  for (std::uint32_t i = 0; i < head.descriptors; ++i) {
    frame.descriptors.push_back(std::move(arrived_.front()));
    arrived_.pop_front();
  }
  passed(sizeof head + head.length);
  return frame;
}

}  // namespace penstock::sharing
