#include <map>
#include <mutex>

#include <device/cuda/cuda.hpp>
#include <device/device.hpp>
#include <device/host/host_device.hpp>
#include <penstock/device.hpp>

namespace penstock {
namespace {

std::shared_ptr<Device> made(const DeviceId& id) {
  if (id.kind == DeviceId::Kind::cuda) return open_cuda_device(id.number);
  return std::make_shared<HostDevice>(id.number);
}

}  // namespace

std::shared_ptr<Device> open_device(std::string_view name) {
  const DeviceId id = device_named(name);
  static std::mutex mutex;  // guards open
  static std::map<std::string, std::weak_ptr<Device>> open;
  const std::scoped_lock lock(mutex);
  std::weak_ptr<Device>& known = open[to_string(id)];
  if (auto device = known.lock()) return device;
  std::shared_ptr<Device> device = made(id);
  known = device;
  return device;
}

}  // namespace penstock
