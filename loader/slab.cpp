#include <algorithm>
#include <cstring>
#include <utility>

#include <penstock/formats/error.hpp>
#include <penstock/loader/slab.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kColumnAlignment = 256;  // of a copy to a device, and above every SIMD width

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

}  // namespace

Slab::Slab(std::span<const Output> outputs, std::uint32_t batch_size, std::uint64_t max_items)
    : outputs_(outputs),
      capacity_(batch_size),
      max_items_(max_items),
      column_(outputs.size()),
      ragged_(outputs.size()) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    column_[i] = bytes;
    if (outputs[i].ragged) {
      ragged_[i].offsets.resize(batch_size + 1);
      ragged_[i].staged.resize(batch_size);
      ragged_[i].arena.reserve(max_items * outputs[i].row_bytes() * batch_size);
    } else {
      bytes += aligned(outputs[i].row_bytes() * batch_size);
    }
  }
  memory_ = Memory(bytes);
  reserved_ = bytes;
  for (const RaggedColumn& column : ragged_) reserved_ += column.arena.size();
  samples.reserve(batch_size);
  keys.reserve(batch_size);
  valid.reserve(batch_size);
  fields_.reserve(outputs.size());
}

void Slab::begin(std::uint64_t new_epoch, std::uint64_t new_number, std::uint32_t new_rows) {
  epoch = new_epoch;
  number = new_number;
  rows = new_rows;
  samples.assign(rows, 0);
  keys.assign(rows, {});
  valid.assign(rows, 1);
  bad.clear();
  fields_.clear();
}

std::span<std::byte> Slab::row(std::uint32_t output, std::uint32_t row) {
  const std::uint64_t bytes = outputs_[output].row_bytes();
  return {memory_.data() + column_[output] + bytes * row, static_cast<std::size_t>(bytes)};
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
  const std::uint64_t before = column.arena.size();
  column.arena.reserve(static_cast<std::uint64_t>(total) * outputs_[output].row_bytes());
  reserved_.fetch_add(column.arena.size() - before, std::memory_order_relaxed);
}

std::span<std::byte> Slab::ragged_row(std::uint32_t output, std::uint32_t row) {
  const RaggedColumn& column = ragged_[output];
  const std::uint64_t item = outputs_[output].row_bytes();
  const auto begin = static_cast<std::uint64_t>(column.offsets[row]);
  const auto end = static_cast<std::uint64_t>(column.offsets[row + 1]);
  return {column.arena.data() + begin * item, static_cast<std::size_t>((end - begin) * item)};
}

void Slab::seal(std::span<const std::uint8_t> staged_outputs) {
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    Field field{.name = output.name, .values = {.dtype = output.dtype, .shape = {}}, .offsets = {}};
    std::int64_t leading = rows;
    if (output.ragged) {
      RaggedColumn& column = ragged_[i];
      if (staged_outputs[i] != 0) {
        std::vector<std::uint64_t> items(rows);
        for (std::uint32_t r = 0; r < rows; ++r) items[r] = column.staged[r].size() / output.row_bytes();
        set_items(i, items);
        for (std::uint32_t r = 0; r < rows; ++r) {
          if (!column.staged[r].empty())
            std::memcpy(ragged_row(i, r).data(), column.staged[r].data(), column.staged[r].size());
        }
      }
      leading = column.offsets[rows];
      field.values.data = column.arena.data();
      field.offsets = {column.offsets.data(), rows + std::size_t{1}};
    } else {
      field.values.data = memory_.data() + column_[i];
    }
    field.values.shape.push_back(leading);
    field.values.shape.insert(field.values.shape.end(), output.shape.begin(), output.shape.end());
    fields_.push_back(std::move(field));
  }
}

std::uint64_t Slab::delivered_bytes() const {
  std::uint64_t bytes = 0;
  for (const Field& field : fields_) bytes += field.values.bytes();
  return bytes;
}

SlabPool::SlabPool(Dataset dataset, std::span<const Output> outputs, std::uint32_t batch_size, std::uint64_t max_items,
                   unsigned slabs)
    : dataset_(std::move(dataset)), outputs_(outputs.begin(), outputs.end()) {
  for (unsigned i = 0; i < slabs; ++i) {
    slabs_.push_back(std::make_unique<Slab>(outputs_, batch_size, max_items));
    free_.push_back(slabs_.back().get());
  }
}

void SlabPool::release(Slab* slab) {
  {
    const std::scoped_lock lock(mutex_);
    free_.push_back(slab);
  }
  freed_.notify_all();
}

void SlabPool::wake() {
  { const std::scoped_lock lock(mutex_); }  // a waiter has either seen the change or is waiting by now
  freed_.notify_all();
}

std::shared_ptr<const Slab> SlabPool::lend(const std::shared_ptr<SlabPool>& pool, Slab* slab, To to) {
  {
    const std::scoped_lock lock(pool->mutex_);
    slab->counted = to == To::consumer;
    if (slab->counted) ++pool->lent_;
  }
  return {slab, [pool](Slab* returned) {
            {
              const std::scoped_lock lock(pool->mutex_);
              if (std::exchange(returned->counted, false)) --pool->lent_;
              pool->free_.push_back(returned);
            }
            pool->freed_.notify_all();
          }};
}

void SlabPool::hand_over(const Slab* slab) {
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(slabs_[number_of(slab)]->counted, true)) ++lent_;
}

unsigned SlabPool::lent() const {
  const std::scoped_lock lock(mutex_);
  return lent_;
}

std::size_t SlabPool::free_slabs() const {
  const std::scoped_lock lock(mutex_);
  return free_.size();
}

std::uint64_t SlabPool::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& slab : slabs_) bytes += slab->bytes();
  return bytes;
}

std::size_t SlabPool::number_of(const Slab* slab) const {
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    if (slabs_[i].get() == slab) return i;
  }
  return slabs_.size();
}

}  // namespace penstock
