#include <array>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <penstock/loader/node_memory/message.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kHandedOn = 0x316d656d746e6570;  // "pentmem1"; another message has another number

/// Room for one descriptor beside the bytes. Source: cmsg(3).
union Beside {
  cmsghdr aligned;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

}  // namespace

bool send_descriptor(int socket, int descriptor) {
  std::uint64_t word = kHandedOn;
  iovec part{.iov_base = &word, .iov_len = sizeof word};
  Beside beside{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.bytes.data();
  message.msg_controllen = beside.bytes.size();
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof word);
}

UnforkedDescriptor receive_descriptor(int socket) {
  return UnforkedDescriptor([socket] {
    std::uint64_t word = 0;
    iovec part{.iov_base = &word, .iov_len = sizeof word};
    Beside beside{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = beside.bytes.data();
    message.msg_controllen = beside.bytes.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const cmsghdr* const head = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
    int descriptor = -1;
    if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof descriptor))
      return -1;
    std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    if (got == static_cast<ssize_t>(sizeof word) && word == kHandedOn) return descriptor;
    ::close(descriptor);
    return -1;
  });
}

}  // namespace penstock
