#include <array>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <loader/node_memory/message.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kHandedOn = 0x316d656d746e6570;  // "pentmem1"; other message formats have other numbers

/// A word, with room for an accompanying descriptor. Contains pointers to itself. Source: cmsg(3).
struct Envelope {
  explicit Envelope(std::uint64_t of_word) : word(of_word) {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = beside.data();
    message.msg_controllen = beside.size();
  }
  Envelope(Envelope&&) = delete;

  std::uint64_t word;
  iovec part{.iov_base = &word, .iov_len = sizeof word};
  msghdr message{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
};

}  // namespace

bool send_descriptor(int socket, int descriptor) {
  Envelope envelope(kHandedOn);
  cmsghdr* const head = CMSG_FIRSTHDR(&envelope.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &envelope.message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof envelope.word);
}

UnforkedDescriptor receive_descriptor(int socket) {
  return UnforkedDescriptor([socket] {
    Envelope envelope(0);
    const ssize_t got = ::recvmsg(socket, &envelope.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const cmsghdr* const head = got < 0 ? nullptr : CMSG_FIRSTHDR(&envelope.message);
    int descriptor = -1;
    if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof descriptor))
      return -1;
    std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    if (got == static_cast<ssize_t>(sizeof envelope.word) && envelope.word == kHandedOn) return descriptor;
    ::close(descriptor);
    return -1;
  });
}

}  // namespace penstock
