#include <utility>

#include <device/device_use.hpp>
#include <loader/batch/batch_record.hpp>
#include <penstock/batch.hpp>
#include <penstock/error.hpp>

namespace penstock {

Batch::Batch(std::shared_ptr<const BatchRecord> slab) : slab_(std::move(slab)) {}

std::uint64_t Batch::seed() const {
  return slab_->seed;
}

std::uint64_t Batch::epoch() const {
  return slab_->epoch;
}

std::uint64_t Batch::number() const {
  return slab_->number;
}

std::uint32_t Batch::size() const {
  return slab_ ? slab_->rows : 0;
}

std::span<const Field> Batch::fields() const {
  return slab_->fields;
}

const Field& Batch::operator[](std::string_view name) const {
  std::string known;
  for (const Field& field : slab_->fields) {
    if (field.name == name) return field;
    known.append(known.empty() ? "" : ", ").append(field.name);
  }
  throw Error::invalid_argument("the batch has no output '" + std::string(name) + "'; it has " + known);
}

std::span<const std::uint8_t> Batch::valid() const {
  return slab_->valid;
}

std::span<const std::uint8_t> Batch::present(std::string_view output) const {
  for (const PresentRows& marks : slab_->present)
    if (slab_->fields[marks.output].name == output) return marks.rows;
  return {};
}

const std::optional<MixDraw>& Batch::mix() const {
  return slab_->mix;
}

std::span<const std::uint64_t> Batch::samples() const {
  return slab_->samples;
}

std::span<const std::int64_t> Batch::sources() const {
  return slab_->sources;
}

std::span<const BadSample> Batch::bad() const {
  return slab_->bad;
}

std::span<const std::string_view> Batch::keys() const {
  return slab_->keys;
}

std::optional<DeviceId> Batch::device() const {
  if (slab_->use == nullptr) return std::nullopt;
  return slab_->use->device().id();
}

void Batch::wait(StreamHandle stream) const {
  if (slab_->use != nullptr) slab_->use->wait(stream);
}

void Batch::record_stream(StreamHandle stream) const {
  if (slab_->use != nullptr) slab_->use->record_stream(stream);
}

void Batch::synchronize() const {
  if (slab_->use != nullptr) slab_->use->synchronize();
}

}  // namespace penstock
