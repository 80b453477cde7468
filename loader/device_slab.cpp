#include <algorithm>
#include <utility>

#include <penstock/loader/device_slab.hpp>

namespace penstock {

DeviceSlab::DeviceSlab(const std::shared_ptr<Device>& device, std::span<const Output> copied,
                       std::span<const DeviceOutput> outputs, std::uint32_t batch_size, std::uint64_t max_items)
    : device_(device),
      copied_(copied),
      outputs_(outputs),
      layout_(copied, batch_size),
      made_(outputs.size()),
      arenas_(outputs.size()),
      offsets_(outputs.size()),
      use_(device) {
  std::uint64_t bytes = layout_.bytes;
  std::uint64_t ragged = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].pass) {
      made_[i] = bytes;
      bytes += SlabLayout::aligned(outputs[i].output.row_bytes() * batch_size);
    } else if (outputs[i].output.ragged) {
      arenas_[i] = DeviceMemory(device, max_items * outputs[i].output.row_bytes() * batch_size);
      ragged += arenas_[i].size();
    }
  }
  memory_ = DeviceMemory(device, bytes);
  bytes_ = bytes + ragged;
}

void DeviceSlab::fill(const Slab& host, StreamHandle stream, Event& begun) {
  describe(host);
  use_.begin_write(stream);
  begun.record(stream);
  if (const std::uint64_t bytes = layout_.used(copied_, host.rows); bytes != 0) {
    device_->copy_in(memory_.data(), host.columns(), bytes, stream);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const std::uint64_t bytes = outputs_[i].output.ragged ? host.fields[i].values.bytes() : 0;
    if (bytes != 0) device_->copy_in(arenas_[i].data(), host.fields[i].values.data, bytes, stream);
  }
  run_passes(stream);
  use_.written(stream);
}

void DeviceSlab::describe(const Slab& host) {
  record_ = host;
  record_.use = &use_;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Field& field = record_.fields[i];
    if (outputs_[i].output.ragged) {
      if (const std::uint64_t bytes = field.values.bytes(); bytes > arenas_[i].size()) {
        const std::uint64_t before = arenas_[i].size();
        use_.finish();  // the old one ends here
        arenas_[i] = {};
        arenas_[i] = DeviceMemory(device_, std::max(bytes, before + before / 2));
        bytes_.fetch_add(arenas_[i].size() - before, std::memory_order_relaxed);
      }
      offsets_[i].assign(field.offsets.begin(), field.offsets.end());
      field.offsets = offsets_[i];
      field.values.data = arenas_[i].data();
    } else if (outputs_[i].pass) {
      const Output& made = outputs_[i].output;
      field.values = {.data = memory_.data() + made_[i], .dtype = made.dtype, .shape = {host.rows}};
      field.values.shape.insert(field.values.shape.end(), made.shape.begin(), made.shape.end());
    } else {
      field.values.data = memory_.data() + layout_.column[i];
    }
    field.name = outputs_[i].output.name;
  }
}

void DeviceSlab::run_passes(StreamHandle stream) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].pass) continue;
    ImagePass pass = *outputs_[i].pass;
    pass.in = reinterpret_cast<const std::uint8_t*>(memory_.data() + layout_.column[i]);
    pass.out = memory_.data() + made_[i];
    pass.rows = record_.rows;
    device_->run(pass, stream);
  }
}

DevicePool::DevicePool(std::shared_ptr<Device> device, Dataset dataset, std::span<const Output> copied,
                       std::vector<DeviceOutput> outputs, std::uint32_t batch_size, std::uint64_t max_items,
                       unsigned slabs)
    : device_(std::move(device)),
      dataset_(std::move(dataset)),
      copied_(copied.begin(), copied.end()),
      outputs_(std::move(outputs)) {
  for (unsigned i = 0; i < slabs; ++i) {
    slabs_.push_back(std::make_unique<DeviceSlab>(device_, copied_, outputs_, batch_size, max_items));
    free_.push_back(slabs_.back().get());
  }
}

void DevicePool::wake() {
  { const std::scoped_lock lock(mutex_); }  // a waiter has either seen the change or is waiting by now
  freed_.notify_all();
}

std::shared_ptr<const BatchRecord> DevicePool::lend(const std::shared_ptr<DevicePool>& pool, DeviceSlab* slab) {
  return {&slab->record(), [pool, slab](const BatchRecord*) { pool->give_back(slab); }};
}

void DevicePool::give_back(DeviceSlab* slab) noexcept {
  bool read = false;
  {
    const std::scoped_lock lock(mutex_);
    read = std::exchange(slab->counted, false);
    if (read) --lent_;
  }
  slab->use().released(read);
  {
    const std::scoped_lock lock(mutex_);
    free_.push_back(slab);
  }
  freed_.notify_all();
}

void DevicePool::hand_over(const BatchRecord* record) {
  const std::scoped_lock lock(mutex_);
  for (const auto& slab : slabs_) {
    if (&slab->record() == record && !std::exchange(slab->counted, true)) ++lent_;
  }
}

unsigned DevicePool::lent() const {
  const std::scoped_lock lock(mutex_);
  return lent_;
}

std::uint64_t DevicePool::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& slab : slabs_) bytes += slab->bytes();
  return bytes;
}

}  // namespace penstock
