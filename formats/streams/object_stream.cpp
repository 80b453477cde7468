#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <formats/index/probe_stamp.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/places/read_range.hpp>
#include <formats/streams/object_stream.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kKeptOfBeginning = std::size_t{1} << 20;  // enough that small objects need no request

}  // namespace

ObjectStream::ObjectStream(std::string address)
    : address_(std::move(address)), upload_(object_store().upload(address_)) {}

void ObjectStream::append(std::span<const std::byte> bytes) {
  upload_->write(bytes);
  crc_ = penstock::crc32c(bytes, crc_);
  size_ += bytes.size();
  const std::size_t head = std::min(bytes.size(), kKeptOfBeginning - first_.size());
  first_.insert(first_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(head));
  const auto tail = bytes.last(std::min<std::size_t>(bytes.size(), kProbedBytes));
  const std::size_t surplus =
      last_.size() + tail.size() - std::min<std::size_t>(last_.size() + tail.size(), kProbedBytes);
  last_.erase(last_.begin(), last_.begin() + static_cast<std::ptrdiff_t>(surplus));
  last_.insert(last_.end(), tail.begin(), tail.end());
}

void ObjectStream::finish() {
  info_ = upload_->finish();
  upload_.reset();
  if (info_.size != 0 && info_.size != size_)
    throw Error::io(EIO, "the store has " + std::to_string(info_.size) + " of " + std::to_string(size_) + " bytes",
                    {.dataset = address_});
  info_.size = size_;
}

std::uint64_t ObjectStream::stamp() const {
  return probe_stamp(size_, [this](std::uint64_t offset, std::span<std::byte> into) { return probe(offset, into); });
}

std::size_t ObjectStream::probe(std::uint64_t offset, std::span<std::byte> into) const {
  const std::size_t wanted = std::min<std::uint64_t>(into.size(), size_ - offset);
  const auto copied = [&](std::span<const std::byte> from) {
    std::memcpy(into.data(), from.data(), wanted);
    return wanted;
  };
  if (wanted == 0) return 0;
  if (offset + wanted <= first_.size()) return copied(std::span(first_).subspan(offset, wanted));
  if (offset >= size_ - last_.size()) return copied(std::span(last_).subspan(offset - (size_ - last_.size()), wanted));
  read_range({.address = address_, .info = info_}, offset, into.first(wanted));
  return wanted;
}

}  // namespace penstock
