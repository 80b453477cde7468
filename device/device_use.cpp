#include <algorithm>
#include <utility>

#include <device/device_use.hpp>

namespace penstock {

DeviceUse::DeviceUse(std::shared_ptr<Device> device) : device_(std::move(device)), ready_(device_->make_event()) {}

DeviceUse::~DeviceUse() {
  finish();
}

void DeviceUse::finish() noexcept {
  // Ignores failures: a failed device reports them to callers that request a result.
  const auto settle = [](const Event& event) {
    try {
      event.wait();
    } catch (const std::exception&) {
    }
  };
  settle(*ready_);
  const std::scoped_lock lock(mutex_);
  for (const Reader& reader : readers_) settle(*reader.left);
}

void DeviceUse::begin_write(StreamHandle writer) {
  const std::scoped_lock lock(mutex_);
  for (Reader& reader : readers_) {
    device_->wait(writer, *reader.left);
    events_.push_back(std::move(reader.left));
  }
  readers_.clear();
}

void DeviceUse::written(StreamHandle writer) {
  ready_->record(writer);
}

void DeviceUse::wait(StreamHandle stream) {
  device_->wait(stream, *ready_);
  add(stream);
}

void DeviceUse::record_stream(StreamHandle stream) {
  add(stream);
}

void DeviceUse::add(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(streams_, stream) == streams_.end()) streams_.push_back(stream);
}

void DeviceUse::released(bool read) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    if (streams_.empty() && read) streams_.push_back(kDefaultStream);
    for (const StreamHandle stream : streams_) {
      std::unique_ptr<Event> left;
      if (events_.empty()) {
        left = device_->make_event();
      } else {
        left = std::move(events_.back());
        events_.pop_back();
      }
      left->record(stream);
      readers_.push_back({stream, std::move(left)});
    }
    streams_.clear();
  } catch (const std::exception&) {
    // Either the device is failing and the next copy reports it, or memory for the list of readers ran out. Waits for
    // the readers instead.
    const std::scoped_lock lock(mutex_);
    if (streams_.empty() && read) device_->drain(kDefaultStream);
    for (const StreamHandle stream : streams_) device_->drain(stream);
    streams_.clear();
  }
}

}  // namespace penstock
