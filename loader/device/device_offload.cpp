#include <algorithm>
#include <cstring>

#include <base/memory.hpp>
#include <loader/device/device_offload.hpp>

namespace penstock {

DeviceOffload::DeviceOffload(const GpuDirect& direct, const GpuJpeg& jpeg, std::uint32_t batch_size,
                             PagePinning& pinning)
    : direct_(direct),
      jpeg_(jpeg),
      pinning_(pinning),
      extents_(std::max(direct.outputs.size(), jpeg.outputs.size())),
      jpegs_(extents_.size()) {
  for (std::size_t i = 0; i < direct.outputs.size(); ++i) extents_[i].resize(direct.outputs[i] != 0 ? batch_size : 0);
  for (std::size_t i = 0; i < jpeg.outputs.size(); ++i) jpegs_[i].resize(jpeg.outputs[i] != 0 ? batch_size : 0);
}

void DeviceOffload::clear_row(std::uint32_t row) noexcept {
  for (std::vector<Extent>& column : extents_) {
    if (!column.empty()) column[row] = {};
  }
  for (std::vector<JpegRow>& column : jpegs_) {
    if (!column.empty()) column[row].bytes.clear();
  }
}

bool DeviceOffload::take_stored(std::uint32_t output, std::uint32_t row, const Extent& stored) {
  if (extents_[output].empty() || !direct_.reads->takes(stored)) return false;
  extents_[output][row] = stored;
  return true;
}

bool DeviceOffload::take_value(std::uint32_t output, std::uint32_t row, const SampleContext& sample,
                               const FieldBytes& value, SlotFiller& filler) {
  return !jpegs_[output].empty() && jpeg_.jpegs->take(output, sample, value, filler, jpegs_[output][row]);
}

// Moves all JPEGs into memory that a device may read, after their tables.
std::uint64_t DeviceOffload::seal(std::uint32_t rows) {
  const auto each = [&](auto visit) {
    for (std::vector<JpegRow>& column : jpegs_) {
      for (std::uint32_t r = 0; r < rows && !column.empty(); ++r) visit(column[r]);
    }
  };
  tables_bytes_ = 0;
  std::uint64_t jpeg_bytes = 0;
  each([&](JpegRow& row) {
    row.tables_at = tables_bytes_;
    if (row.bytes.empty()) return;
    tables_bytes_ += std::span(row.tables.numbers).size_bytes();
    jpeg_bytes += row.bytes.size();
  });
  const std::uint64_t before = jpeg_memory_.size();
  if (jpeg_.jpegs != nullptr) jpeg_memory_.reserve(pinning_, tables_bytes_ + jpeg_bytes + kOverread);
  std::byte* to = jpeg_memory_.data() + tables_bytes_;
  each([&](JpegRow& row) {
    row.in_slab = {to, row.bytes.size()};
    if (row.bytes.empty()) return;
    const auto tables = std::as_bytes(std::span(row.tables.numbers));
    std::memcpy(jpeg_memory_.data() + row.tables_at, tables.data(), tables.size());
    std::memcpy(to, row.bytes.data(), row.bytes.size());
    to += row.bytes.size();
    row.bytes = {};
  });
  return jpeg_memory_.size() - before;
}

std::uint64_t DeviceOffload::bytes_to_read(std::uint32_t rows) const {
  std::uint64_t bytes = 0;
  for (const std::vector<Extent>& column : extents_) {
    for (std::uint32_t row = 0; row < rows && !column.empty(); ++row) bytes += column[row].length;
  }
  return bytes;
}

std::function<std::unique_ptr<Offload>(std::uint32_t, PagePinning&)> offloads(const GpuDirect& direct,
                                                                              const GpuJpeg& jpeg) {
  if (direct.reads == nullptr && jpeg.jpegs == nullptr) return {};
  return [&](std::uint32_t batch_size, PagePinning& pinning) {
    return std::make_unique<DeviceOffload>(direct, jpeg, batch_size, pinning);
  };
}

}  // namespace penstock
