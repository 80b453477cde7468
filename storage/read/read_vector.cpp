#include <cerrno>

#include <storage/read/read_vector.hpp>

namespace penstock {

void ReadVector::assign(std::span<const ReadRequest> requests, std::span<std::byte> bin) {
  parts_.clear();
  first_ = 0;
  std::uint64_t end = requests.empty() ? 0 : requests.front().extent.offset;
  for (const ReadRequest& request : requests) {
    if (request.extent.offset > end)
      parts_.push_back({bin.data(), static_cast<std::size_t>(request.extent.offset - end)});
    parts_.push_back({request.destination, static_cast<std::size_t>(request.extent.length)});
    end = request.extent.offset + request.extent.length;
  }
}

void ReadVector::assign(std::byte* destination, std::uint64_t length) {
  parts_.assign(1, iovec{destination, static_cast<std::size_t>(length)});
  first_ = 0;
}

std::span<const iovec> ReadVector::next() {
  const std::span<const iovec> left = std::span(parts_).subspan(first_);
  if (left.empty() || left.front().iov_len <= kSplitBytes) return left;
  piece_ = {left.front().iov_base, static_cast<std::size_t>(kSplitBytes)};
  return {&piece_, 1};
}

void ReadVector::advance(std::uint64_t bytes) {
  while (first_ < parts_.size() && bytes >= parts_[first_].iov_len) bytes -= parts_[first_++].iov_len;
  if (bytes == 0) return;
  iovec& part = parts_[first_];
  part.iov_base = static_cast<std::byte*>(part.iov_base) + bytes;
  part.iov_len -= bytes;
}

std::uint64_t total_bytes(std::span<const iovec> parts) {
  std::uint64_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  return bytes;
}

ReadEnd read_fully(int fd, std::uint64_t offset, ReadVector& target, ReadCounters& counters, const AnswerFilter& filter,
                   const std::function<bool()>& stop) {
  ReadEnd end;
  unsigned attempts = 0;
  while (!target.full() && !(stop && stop())) {
    const std::span<const iovec> parts = target.next();
    const std::uint64_t wanted = total_bytes(parts);
    counters.issued(wanted);
    std::int64_t answer =
        preadv(fd, parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(offset + end.bytes));
    if (answer < 0) answer = -errno;
    if (filter) answer = filter(answer);
    if (answer == 0) return end;
    if (answer < 0) {
      const bool again = answer == -EINTR || (answer == -EAGAIN && ++attempts < kAttempts);
      if (!again) return {end.bytes, static_cast<int>(-answer)};
      counters.retried();
      continue;
    }
    attempts = 0;
    const auto bytes = static_cast<std::uint64_t>(answer);
    if (bytes < wanted) counters.retried();
    target.advance(bytes);
    end.bytes += bytes;
  }
  return end;
}

}  // namespace penstock
