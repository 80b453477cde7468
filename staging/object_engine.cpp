#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <base/caught.hpp>
#include <formats/extent.hpp>
#include <staging/object_engine.hpp>
#include <storage/read/store_engine.hpp>

namespace penstock {

struct ObjectEngine::State {
  const std::vector<std::shared_ptr<const StoredObject>> objects;
  const OnRead on_read;
  std::unique_ptr<RangeReader> reader = {};
  std::mutex mutex = {};                                             // guards all below
  std::uint64_t next = 0;                                            // tag of a range
  std::map<std::uint64_t, std::vector<std::uint64_t>> waiting = {};  // by tag of a range: the tags of its requests

  std::vector<std::uint64_t> taken(std::uint64_t range) {
    const std::scoped_lock lock(mutex);
    const auto found = waiting.find(range);
    if (found == waiting.end()) return {};
    std::vector<std::uint64_t> tags = std::move(found->second);
    waiting.erase(found);
    return tags;
  }
};

ObjectEngine::ObjectEngine(std::vector<std::shared_ptr<const StoredObject>> objects, OnRead on_read)
    : state_(new State{std::move(objects), std::move(on_read)}) {
  state_->reader =
      object_store().reader([state = state_.get()](std::uint64_t range, const std::exception_ptr& failure) {
        for (const std::uint64_t tag : state->taken(range)) state->on_read(tag, failure);
      });
}

ObjectEngine::~ObjectEngine() {
  ObjectEngine::stop(kStopGrace);
}

bool ObjectEngine::stop(std::chrono::milliseconds) {
  state_->reader->stop();
  return true;
}

void ObjectEngine::submit(std::span<const ReadRequest> requests) {
  std::size_t sent = 0;
  const auto failure = caught([&] {
    while (sent < requests.size()) {
      const Extent& first = requests[sent].extent;
      RangeRead read{.object = state_->objects.at(first.file), .parts = {}, .tag = 0};
      std::vector<std::uint64_t> tags;
      std::uint64_t end = first.offset;
      std::size_t next = sent;
      for (; next < requests.size(); ++next) {
        const Extent& extent = requests[next].extent;
        const bool follows = extent.file == first.file && extent.offset == end;
        if (!follows || (next != sent && end + extent.length - first.offset > kLongestStoreRange)) break;
        read.parts.push_back({extent.offset, std::span(requests[next].destination, extent.length)});
        tags.push_back(requests[next].tag);
        end += extent.length;
      }
      {
        const std::scoped_lock lock(state_->mutex);
        read.tag = state_->next++;
        state_->waiting.emplace(read.tag, std::move(tags));
      }
      std::vector<RangeRead> reads;
      reads.push_back(std::move(read));
      state_->reader->submit(std::move(reads));
      sent = next;
    }
  });
  if (failure == nullptr) return;
  for (const ReadRequest& request : requests.subspan(sent)) state_->on_read(request.tag, failure);
}

}  // namespace penstock
