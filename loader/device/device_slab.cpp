#include <algorithm>
#include <utility>

#include <formats/extent.hpp>
#include <loader/device/device_offload.hpp>
#include <loader/device/device_slab.hpp>

namespace penstock {

namespace {

/// Size of the pass's result for `copied` bytes of a ragged output, which are float32.
std::uint64_t made_of(const DeviceOutput& output, std::uint64_t copied) {
  if (output.in_place()) return 0;
  return copied / size_of(DType::f32) * size_of(output.output.dtype);
}

std::uint64_t with_made(const DeviceOutput& output, std::uint64_t copied) {
  const std::uint64_t made = made_of(output, copied);
  return made == 0 ? copied : SlabLayout::aligned(copied) + made;
}

std::span<const std::byte> jpeg_tables_of(const Slab& host) {
  const DeviceOffload* offload = DeviceOffload::of(host);
  return offload != nullptr ? offload->jpeg_tables() : std::span<const std::byte>();
}

/// Size of an item in the copied form; float32 for points.
std::uint64_t copied_item(const DeviceOutput& output) {
  const bool points = std::holds_alternative<PointPass>(output.pass);
  return points ? element_count(output.output.shape) * size_of(DType::f32) : output.output.row_bytes();
}

}  // namespace

bool DeviceOutput::in_place() const {
  const auto* points = std::get_if<PointPass>(&pass);
  if (points != nullptr) return points->dtype == DType::f32 && !points->channels_first;
  return std::holds_alternative<std::monostate>(pass);
}

bool wants_row_table(std::span<const DeviceOutput> outputs) {
  return std::ranges::any_of(outputs,
                             [](const DeviceOutput& output) { return std::holds_alternative<PointPass>(output.pass); });
}

DeviceSlab::DeviceSlab(const DeviceBatches& batches)
    : device_(batches.device),
      copied_(batches.copied),
      outputs_(batches.outputs),
      layout_(copied_, batches.batch_size, batches.share),
      made_(outputs_.size()),
      arenas_(outputs_.size()),
      offsets_(outputs_.size()),
      shapes_(outputs_.size()),
      use_(device_) {
  std::uint64_t bytes = layout_.direct_columns;
  std::uint64_t ragged = 0;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const DeviceOutput& made = outputs_[i];
    if (made.output.ragged) {
      const std::uint64_t items = batches.max_items * batches.batch_size;
      arenas_[i] = DeviceMemory(device_, with_made(made, items * copied_item(made)));
      ragged += arenas_[i].size();
    } else if (!made.in_place()) {
      made_[i] = bytes;
      bytes += SlabLayout::aligned(made.output.row_bytes() * batches.batch_size);
    }
  }
  memory_ = DeviceMemory(device_, bytes);
  if (const std::uint64_t columns = layout_.bytes - layout_.direct_columns; columns != 0) {
    direct_ = DeviceMemory(device_, columns);
    attachment_ = FileAttachment(batches.files, direct_.data(), columns);
  }
  bytes_ = bytes + direct_.size() + ragged;
}

void DeviceSlab::await_readers(StreamHandle stream, Event& begun) {
  use_.begin_write(stream);
  begun.record(stream);
  begun.wait();
}

void DeviceSlab::read(const Slab& host, DeviceReads& reads, const std::function<bool()>& cancelled) {
  rows_.clear();
  for (std::uint32_t i = 0; i < copied_.size(); ++i) {
    if (!layout_.share.reads_output(i)) continue;
    const std::uint64_t column = layout_.column[i] - layout_.direct_columns, row_bytes = copied_[i].row_bytes();
    for (std::uint32_t row = 0; row < host.rows; ++row) {
      const Extent& extent = DeviceOffload::of(host)->extents(i)[row];
      if (extent.length == 0) continue;
      rows_.push_back({extent, direct_.data(), column + row * row_bytes, host.keys[row], copied_[i].name});
    }
  }
  reads.bring(rows_, cancelled);
}

std::uint64_t DeviceSlab::fill(const Slab& host, DeviceJpegs* jpegs, StreamHandle stream, Event& begun, Event& copied) {
  describe(host);
  use_.begin_write(stream);
  begun.record(stream);
  std::uint64_t all = layout_.used(copied_, host.rows);
  if (all != 0) device_->copy_in(memory_.data(), host.columns(), all, stream);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const std::uint64_t bytes = outputs_[i].output.ragged ? host.fields[i].values.bytes() : 0;
    if (bytes != 0) device_->copy_in(arenas_[i].data(), host.fields[i].values.data, bytes, stream);
    all += bytes;
  }
  all += copy_rows(host, stream);
  all += copy_jpeg_tables(host, stream);
  copied.record(stream);
  if (jpegs != nullptr) decode(host, *jpegs, stream);
  run_passes(stream);
  use_.written(stream);
  return all;
}

std::uint64_t DeviceSlab::copy_rows(const Slab& host, StreamHandle stream) {
  std::uint64_t all = 0;
  for (std::uint32_t i = 0; i < copied_.size(); ++i) {
    const std::uint64_t row_bytes = layout_.share.reads_output(i) ? copied_[i].row_bytes() : 0;
    for (std::uint32_t row = 0; row < host.rows && row_bytes != 0; ++row) {
      if (DeviceOffload::of(host)->extents(i)[row].length != 0) continue;
      device_->copy_in(copied(i) + row * row_bytes, host.fields[i].values.data + row * row_bytes, row_bytes, stream);
      all += row_bytes;
    }
  }
  return all;
}

std::uint64_t DeviceSlab::copy_jpeg_tables(const Slab& host, StreamHandle stream) {
  const std::span<const std::byte> tables = jpeg_tables_of(host);
  if (tables.empty()) return 0;
  device_->copy_in(jpeg_tables_.data(), tables.data(), tables.size(), stream);
  return tables.size();
}

void DeviceSlab::decode(const Slab& host, DeviceJpegs& jpegs, StreamHandle stream) {
  const DeviceOffload* offload = DeviceOffload::of(host);
  for (std::uint32_t i = 0; i < copied_.size() && offload != nullptr; ++i) {
    if (offload->jpegs(i).empty()) continue;
    jpegs.decode(offload->jpegs(i).first(host.rows), jpeg_tables_.data(),
                 {.pixels = copied(i), .height = copied_[i].shape[0], .width = copied_[i].shape[1]}, stream);
  }
}

void DeviceSlab::describe(const Slab& host) {
  record_ = host;
  record_.use = &use_;
  make_room(jpeg_tables_, jpeg_tables_of(host).size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& made = outputs_[i].output;
    Field& field = record_.fields[i];
    const std::uint64_t bytes = field.values.bytes();
    Shape shape = field.values.shape;
    if (made.ragged) {
      make_room(i, bytes);
      offsets_[i].assign(field.offsets.begin(), field.offsets.end());
      field.offsets = offsets_[i];
      shapes_[i].assign(field.shapes.begin(), field.shapes.end());
      field.shapes = shapes_[i];
      made_[i] = SlabLayout::aligned(bytes);
    }
    // Rows, or the total number of items; for padded outputs, rows and items.
    shape.resize(made.padding && made.ragged ? 2 : 1);
    shape.insert(shape.end(), made.shape.begin(), made.shape.end());
    field.values = {.data = copied(i), .dtype = made.dtype, .shape = std::move(shape)};
    if (!outputs_[i].in_place()) field.values.data = (made.ragged ? arenas_[i].data() : memory_.data()) + made_[i];
    field.name = made.name;
  }
}

void DeviceSlab::make_room(std::size_t output, std::uint64_t copied) {
  make_room(arenas_[output], with_made(outputs_[output], copied));
}

void DeviceSlab::make_room(DeviceMemory& memory, std::uint64_t bytes) {
  const std::uint64_t before = memory.size();
  if (bytes <= before) return;
  use_.finish();  // the old allocation ends here
  memory = {};
  memory = DeviceMemory(device_, std::max(bytes, before + before / 2));
  bytes_.fetch_add(memory.size() - before, std::memory_order_relaxed);
}

std::byte* DeviceSlab::copied(std::size_t output) const {
  if (outputs_[output].output.ragged) return arenas_[output].data();
  if (layout_.share.reads_output(output)) return direct_.data() + (layout_.column[output] - layout_.direct_columns);
  return memory_.data() + layout_.column[output];
}

void DeviceSlab::run_passes(StreamHandle stream) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (const auto* image = std::get_if<ImagePass>(&outputs_[i].pass)) run(*image, i, stream);
    if (const auto* points = std::get_if<PointPass>(&outputs_[i].pass)) run(*points, i, stream);
  }
}

void DeviceSlab::run(ImagePass pass, std::size_t output, StreamHandle stream) {
  pass.in = reinterpret_cast<const std::uint8_t*>(copied(output));
  pass.out = record_.fields[output].values.data;
  pass.rows = record_.rows;
  device_->run(pass, stream);
}

void DeviceSlab::run(PointPass pass, std::size_t output, StreamHandle stream) {
  const TensorView& values = record_.fields[output].values;
  pass.work = reinterpret_cast<float*>(copied(output));
  pass.in = pass.work;
  pass.out = values.data;
  pass.samples = reinterpret_cast<const std::uint64_t*>(memory_.data());
  pass.clouds = record_.rows;
  if (outputs_[output].output.ragged) {
    pass.begins = reinterpret_cast<const std::int64_t*>(memory_.data() + layout_.begins[output]);
    pass.points = values.shape.front();
  } else {
    pass.points = values.shape[pass.channels_first ? 2 : 1];
  }
  pass.in_points = pass.points;
  pass.key = key_of_draws(record_.seed, record_.epoch);
  if (pass.points != 0) device_->run(pass, stream);
}

DevicePool::DevicePool(DeviceBatches batches, unsigned slabs, unsigned held, unsigned more)
    : batches_(std::move(batches)), held_(held), more_(more) {
  for (unsigned i = 0; i < slabs; ++i) {
    slabs_.push_back(std::make_unique<DeviceSlab>(batches_));
    free_.reserve(slabs_.size());
    free_.push_back(slabs_.back().get());
  }
  if (slabs != 0) slab_bytes_ = slabs_.front()->bytes();
}

void DevicePool::allow_held(unsigned held) {
  while (held_ < held && more_ != 0) {  // only this thread changes it
    auto slab = std::make_unique<DeviceSlab>(batches_);
    {
      const std::scoped_lock lock(mutex_);
      slabs_.push_back(std::move(slab));
      free_.reserve(slabs_.size());
      free_.push_back(slabs_.back().get());
      ++held_;
      --more_;
    }
    freed_.notify_all();
  }
}

void DevicePool::wake() {
  { const std::scoped_lock lock(mutex_); }  // after the lock, a waiter has either seen the change or is waiting
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

std::size_t DevicePool::size() const {
  const std::scoped_lock lock(mutex_);
  return slabs_.size();
}

std::uint64_t DevicePool::bytes_to_add() const {
  const std::scoped_lock lock(mutex_);
  return more_ * slab_bytes_;
}

std::uint64_t DevicePool::bytes() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& slab : slabs_) bytes += slab->bytes();
  return bytes;
}

}  // namespace penstock
