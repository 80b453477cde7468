#include <cerrno>
#include <exception>
#include <future>
#include <memory>
#include <utility>

#include <base/waits/interruption.hpp>
#include <formats/places/read_range.hpp>
#include <penstock/error.hpp>

namespace penstock {

void read_range(const std::string& address, std::uint64_t offset, std::span<std::byte> into) {
  if (into.empty()) return;
  const auto info = object_store().find(address);
  if (!info) throw Error::io(ENOENT, "cannot read", {.dataset = address});
  read_range({.address = address, .info = *info}, offset, into);
}

void read_range(const StoredObject& object, std::uint64_t offset, std::span<std::byte> into) {
  if (into.empty()) return;
  std::promise<void> answered;
  std::future<void> answer = answered.get_future();
  const std::unique_ptr<RangeReader> reader =
      object_store().reader([&answered](std::uint64_t /*tag*/, std::exception_ptr failure) {
        failure ? answered.set_exception(std::move(failure)) : answered.set_value();
      });
  std::vector<RangeRead> reads;
  reads.push_back(
      {.object = std::make_shared<const StoredObject>(object), .parts = {{.offset = offset, .into = into}}, .tag = 0});
  reader->submit(std::move(reads));
  while (answer.wait_for(kBetweenInterruptions) != std::future_status::ready) require_uninterrupted();
  answer.get();
}

}  // namespace penstock
