#include <algorithm>
#include <cstring>
#include <utility>

#include <base/memory.hpp>
#include <loader/batch/slab.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kColumnAlignment = 256;  // sufficient for copies to a device and for any SIMD width
constexpr double kAddresses = 0x1p47;            // address space of a process
constexpr std::uint64_t kPage = 4096;            // pages of storage and memory: slabs begin at a page boundary

}  // namespace

SlabLayout::SlabLayout(std::span<const Output> outputs, std::uint32_t batch_size, DeviceShare of_device)
    : share(std::move(of_device)), column(outputs.size()), begins(outputs.size()) {
  if (share.row_table) bytes = aligned(batch_size * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < outputs.size() && share.row_table; ++i) {
    begins[i] = bytes;
    if (outputs[i].ragged) bytes += aligned((batch_size + std::uint64_t{1}) * sizeof(std::int64_t));
  }
  first_column = bytes;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    column[i] = bytes;
    if (!outputs[i].ragged && !share.reads_output(i)) bytes += aligned(outputs[i].row_bytes() * batch_size);
  }
  direct_columns = share.reads.empty() ? bytes : rounded_up(bytes, kPage);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!share.reads_output(i)) continue;
    bytes = std::max(bytes, direct_columns);
    column[i] = bytes;
    bytes += rounded_up(outputs[i].row_bytes() * batch_size, kPage);
  }
}

std::uint64_t SlabLayout::aligned(std::uint64_t bytes) {
  return rounded_up(bytes, kColumnAlignment);
}

std::uint64_t SlabLayout::used(std::span<const Output> outputs, std::uint32_t rows) const {
  std::uint64_t end = first_column;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].ragged && !share.reads_output(i)) end = column[i] + outputs[i].row_bytes() * rows;
  }
  return end;
}

Slab::Slab(std::span<const Output> outputs, const SlabLayout& layout, PagePinning& pinning, std::uint32_t batch_size,
           std::uint64_t max_items)
    : outputs_(outputs),
      capacity_(batch_size),
      max_items_(max_items),
      layout_(layout),
      pinning_(pinning),
      ragged_(outputs.size()),
      offload_(layout.share.offload ? layout.share.offload(batch_size, pinning) : nullptr) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].ragged) continue;
    ragged_[i].offsets.resize(batch_size + 1);
    ragged_[i].buffered.resize(batch_size);
    ragged_[i].shapes.resize(std::size_t{batch_size} * outputs[i].own_dimensions);
  }
  samples.reserve(batch_size);
  occurrences.reserve(batch_size);
  sources.reserve(batch_size);
  keys.reserve(batch_size);
  valid.reserve(batch_size);
  cleared.reserve(batch_size);
  fields.reserve(outputs.size());
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].marks_present()) continue;
    present.push_back({.output = i, .rows = {}});
    present.back().rows.reserve(batch_size);
  }
}

void Slab::adopt(std::byte* memory) {
  std::uint64_t arenas = 0;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].ragged) continue;
    ragged_[i].arena.reserve(pinning_, max_items_ * outputs_[i].row_bytes() * capacity_);
    arenas += ragged_[i].arena.size();
  }
  memory_ = memory;
  reserved_ = layout_.bytes + arenas;
}

void Slab::begin(std::uint64_t new_epoch, std::uint64_t new_number, std::uint32_t new_rows) {
  epoch = new_epoch;
  number = new_number;
  rows = new_rows;
  if (!provided_) pinning_.provide(memory_, layout_.bytes);
  provided_ = true;
  samples.assign(rows, 0);
  occurrences.assign(rows, 0);
  sources.clear();
  keys.assign(rows, {});
  valid.assign(rows, 1);
  cleared.assign(rows, 0);
  for (PresentRows& marks : present) marks.rows.assign(rows, 1);
  mix.reset();
  bad.clear();
  fields.clear();
}

std::span<std::byte> Slab::row(std::uint32_t output, std::uint32_t row) {
  const std::uint64_t bytes = outputs_[output].row_bytes();
  return {memory_ + layout_.column[output] + bytes * row, static_cast<std::size_t>(bytes)};
}

void Slab::set_items(std::uint32_t output, std::span<const std::uint64_t> items) {
  RaggedColumn& column = ragged_[output];
  std::int64_t total = 0;
  for (std::uint32_t i = 0; i < rows; ++i) {
    if (max_items_ != 0 && items[i] > max_items_) {
      throw Error::resource(
          "a row has " + std::to_string(items[i]) + " items, more than max_items = " + std::to_string(max_items_),
          {.key = std::string(keys[i]), .field = outputs_[output].name});
    }
    column.offsets[i] = total;
    total += static_cast<std::int64_t>(items[i]);
  }
  column.offsets[rows] = total;
  try {
    reserve(output, static_cast<std::uint64_t>(total));
  } catch (const Error& error) {
    const auto longest = std::max_element(items.begin(), items.end()) - items.begin();
    throw error.in({.key = std::string(keys[static_cast<std::size_t>(longest)]), .field = outputs_[output].name});
  }
}

void Slab::reserve(std::uint32_t output, std::uint64_t items) {
  PinnedMemory& arena = ragged_[output].arena;
  const std::uint64_t before = arena.size();
  arena.reserve(pinning_, items * outputs_[output].row_bytes());
  reserved_.fetch_add(arena.size() - before, std::memory_order_relaxed);
}

std::span<std::byte> Slab::ragged_row(std::uint32_t output, std::uint32_t row) {
  const RaggedColumn& column = ragged_[output];
  const std::uint64_t item = outputs_[output].row_bytes();
  const auto begin = static_cast<std::uint64_t>(column.offsets[row]);
  const auto end = static_cast<std::uint64_t>(column.offsets[row + 1]);
  return {column.arena.data() + begin * item, static_cast<std::size_t>((end - begin) * item)};
}

void Slab::seal(std::span<const std::uint8_t> buffered_outputs) {
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    Field field{.name = output.name, .values = {.dtype = output.dtype, .shape = {}}, .offsets = {}};
    const std::int64_t leading = rows;
    if (output.ragged) {
      RaggedColumn& column = ragged_[i];
      if (output.padding) {
        field.values.shape = {leading, buffered_outputs[i] != 0 ? pad(i) : padded_items(i)};
      } else {
        if (buffered_outputs[i] != 0) gather(i);
        field.values.shape = {column.offsets[rows]};
        field.offsets = {column.offsets.data(), rows + std::size_t{1}};
        field.shapes = {column.shapes.data(), std::size_t{rows} * output.own_dimensions};
      }
      field.values.data = column.arena.data();
    } else {
      field.values.data = memory_ + layout_.column[i];
      field.values.shape = {leading};
    }
    field.values.shape.insert(field.values.shape.end(), output.shape.begin(), output.shape.end());
    fields.push_back(std::move(field));
  }
  if (layout_.share.row_table) write_table();
  if (offload_ != nullptr) reserved_.fetch_add(offload_->seal(rows), std::memory_order_relaxed);
}

// Places buffered rows one after the other.
void Slab::gather(std::uint32_t output) {
  const RaggedColumn& column = ragged_[output];
  std::vector<std::uint64_t> items(rows);
  for (std::uint32_t r = 0; r < rows; ++r) items[r] = column.buffered[r].size() / outputs_[output].row_bytes();
  set_items(output, items);
  for (std::uint32_t r = 0; r < rows; ++r) {
    if (!column.buffered[r].empty())
      std::memcpy(ragged_row(output, r).data(), column.buffered[r].data(), column.buffered[r].size());
  }
}

// Pads each buffered row to the length of the longest, which is returned.
std::int64_t Slab::pad(std::uint32_t output) {
  const RowPadding& padding = *outputs_[output].padding;
  const std::uint64_t item_bytes = outputs_[output].row_bytes();
  std::uint64_t items = 0;
  std::uint32_t longest = 0;
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::uint64_t of_row = ragged_[output].buffered[r].size() / item_bytes;
    if (of_row <= items) continue;
    items = of_row;
    longest = r;
  }
  const std::uint64_t length = rounded_up(items, static_cast<std::uint64_t>(padding.multiple));
  const auto where = [&] { return ErrorContext{.key = std::string(keys[longest]), .field = outputs_[output].name}; };
  const double bytes = static_cast<double>(rows) * static_cast<double>(length) * static_cast<double>(item_bytes);
  if (bytes > kAddresses) {
    throw Error::resource("a batch of " + std::to_string(rows) + " rows of " + std::to_string(length) +
                              " items takes more memory than a process can address",
                          where());
  }
  try {
    reserve(output, rows * length);
  } catch (const Error& error) {
    throw error.in(where());
  }
  for (std::uint32_t r = 0; r <= rows; ++r) ragged_[output].offsets[r] = static_cast<std::int64_t>(r * length);
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::vector<std::byte>& row = ragged_[output].buffered[r];
    const std::span<std::byte> place = ragged_row(output, r);
    std::ranges::copy(row, place.begin());
    padding.element.fill(place.subspan(row.size()));
  }
  return static_cast<std::int64_t>(length);
}

// The length that place() gave each row.
std::int64_t Slab::padded_items(std::uint32_t output) const {
  return rows == 0 ? 0 : ragged_[output].offsets[1];
}

std::span<std::byte> Slab::place(std::uint32_t index, const Field& built) {
  const Output& output = outputs_[index];
  const auto require = [&](bool good) {
    if (!good) throw Error::corrupt("another process has built values of another shape", {.field = output.name});
  };
  const Shape& shape = built.values.shape;
  const std::size_t own = output.shape.size(), leading = output.padding ? 2 : 1;
  require(shape.size() == leading + own &&
          std::ranges::equal(output.shape, std::span(shape.data(), shape.size()).subspan(leading)));
  require(std::ranges::none_of(shape, [](std::int64_t size) { return size < 0; }));
  if (!output.ragged) {
    require(shape.front() == rows);
    return {row(index, 0).data(), static_cast<std::size_t>(output.row_bytes() * rows)};
  }
  std::vector<std::uint64_t> items(rows);
  if (output.padding) {
    require(shape.front() == rows);
    items.assign(rows, static_cast<std::uint64_t>(shape[1]));
  } else {
    require(built.offsets.size() == rows + std::size_t{1} && built.offsets.front() == 0 &&
            built.offsets.back() == shape.front() && std::ranges::is_sorted(built.offsets));
    require(built.shapes.size() == std::size_t{rows} * output.own_dimensions);
    for (std::uint32_t r = 0; r < rows; ++r)
      items[r] = static_cast<std::uint64_t>(built.offsets[r + 1] - built.offsets[r]);
    std::ranges::copy(built.shapes, ragged_[index].shapes.begin());
  }
  RaggedColumn& column = ragged_[index];
  std::uint64_t total = 0;
  for (std::uint32_t r = 0; r < rows; ++r) {
    column.offsets[r] = static_cast<std::int64_t>(total);
    total += items[r];
  }
  column.offsets[rows] = static_cast<std::int64_t>(total);
  require(static_cast<double>(total) * static_cast<double>(output.row_bytes()) <= kAddresses);
  reserve(index, total);
  return {column.arena.data(), static_cast<std::size_t>(total * output.row_bytes())};
}

void Slab::write_table() {
  auto* const draws = reinterpret_cast<std::uint64_t*>(memory_);
  for (std::uint32_t row = 0; row < rows; ++row) draws[row] = draw_number(samples[row], occurrences[row]);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].ragged) continue;
    std::memcpy(memory_ + layout_.begins[i], ragged_[i].offsets.data(), (rows + std::size_t{1}) * sizeof(std::int64_t));
  }
}

SlabPool::SlabPool(Dataset dataset, std::span<const Output> outputs, std::uint32_t batch_size, std::uint64_t max_items,
                   unsigned slabs, unsigned held, std::shared_ptr<Device> device, DeviceShare share, unsigned more,
                   std::shared_ptr<SharedRegions> regions)
    : dataset_(std::move(dataset)),
      outputs_(outputs.begin(), outputs.end()),
      layout_(outputs_, batch_size, std::move(share)),
      pinning_(std::move(device), std::move(regions)),
      memory_(pinning_, rounded_up(layout_.bytes, kPage) * slabs),
      held_(held) {
  for (unsigned i = 0; i < slabs + more; ++i) {
    slabs_.push_back(std::make_unique<Slab>(outputs_, layout_, pinning_, batch_size, max_items));
  }
  free_.reserve(slabs_.size());
  added_.reserve(more);
  for (; made_ < slabs; ++made_) {
    slabs_[made_]->adopt(memory_.data() + rounded_up(layout_.bytes, kPage) * made_);
    free_.push_back(slabs_[made_].get());
  }
  if (slabs != 0) slab_bytes_ = slabs_.front()->bytes();
}

void SlabPool::allow_held(unsigned held) {
  const std::scoped_lock adding(adding_);
  while (held_ < held && add_slab()) {  // only this thread changes it
    const std::scoped_lock lock(mutex_);
    ++held_;
  }
}

void SlabPool::grow(unsigned slabs) {
  const std::scoped_lock adding(adding_);
  while (slabs != 0 && add_slab()) --slabs;
}

// Returns false if all slabs have memory.
bool SlabPool::add_slab() {
  if (made_ == slabs_.size()) return false;
  PinnedMemory columns(pinning_, rounded_up(layout_.bytes, kPage));
  Slab* const slab = slabs_[made_].get();
  slab->adopt(columns.data());
  added_.push_back(std::move(columns));
  {
    const std::scoped_lock lock(mutex_);
    free_.insert(free_.begin(), slab);  // used last, because its pages are not there yet
    ++made_;
  }
  freed_.notify_all();
  return true;
}

void SlabPool::release(Slab* slab) {
  {
    const std::scoped_lock lock(mutex_);
    slab->released = std::chrono::steady_clock::now();
    free_.push_back(slab);
    --ahead_;
  }
  freed_.notify_all();
}

void SlabPool::wake() {
  { const std::scoped_lock lock(mutex_); }  // after the lock, a waiter has either seen the change or is waiting
  freed_.notify_all();
}

std::shared_ptr<const BatchRecord> SlabPool::lend(const std::shared_ptr<SlabPool>& pool, Slab* slab, To to) {
  {
    const std::scoped_lock lock(pool->mutex_);
    --pool->ahead_;
    slab->counted = to == To::consumer;
    if (slab->counted) ++pool->lent_;
  }
  pool->freed_.notify_all();  // fewer slabs need to be reserved for the consumer now
  return {slab, [pool, slab](const BatchRecord*) {
            {
              const std::scoped_lock lock(pool->mutex_);
              if (std::exchange(slab->counted, false)) --pool->lent_;
              slab->released = std::chrono::steady_clock::now();
              pool->free_.push_back(slab);
            }
            pool->freed_.notify_all();
          }};
}

void SlabPool::hand_over(const BatchRecord* slab) {
  {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(slabs_[number_of(slab)]->counted, true)) ++lent_;
  }
  freed_.notify_all();
}

unsigned SlabPool::lent() const {
  const std::scoped_lock lock(mutex_);
  return lent_;
}

std::size_t SlabPool::free_slabs() const {
  const std::scoped_lock lock(mutex_);
  return free_.size();
}

std::size_t SlabPool::made() const {
  const std::scoped_lock lock(mutex_);
  return made_;
}

std::uint64_t SlabPool::bytes_to_add() const {
  return (size() - made()) * slab_bytes_;
}

std::uint64_t SlabPool::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& slab : slabs_) bytes += slab->bytes();
  return bytes;
}

std::size_t SlabPool::number_of(const BatchRecord* slab) const {
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    if (slabs_[i].get() == slab) return i;
  }
  return slabs_.size();
}

}  // namespace penstock
