#include <algorithm>
#include <utility>

#include <base/memory.hpp>
#include <device/passes.hpp>
#include <loader/device/device_jpegs.hpp>
#include <penstock/random.hpp>

namespace penstock {
namespace {

constexpr std::uint32_t kShareStream = 0x6b1e6d;  // a distinct transform number for the draws of the share
constexpr std::uint64_t kImageAlignment = 256;    // alignment of a device's allocations
constexpr std::uint64_t kRowAlignment = 16;

std::uint64_t pitch_of(JpegSize size) {
  return rounded_up(3 * static_cast<std::uint64_t>(size.width), kRowAlignment);
}

std::uint64_t bytes_of(JpegSize size) {
  return rounded_up(pitch_of(size) * static_cast<std::uint64_t>(size.height), kImageAlignment);
}

}  // namespace

DeviceJpegs::DeviceJpegs(std::shared_ptr<Device> device, std::shared_ptr<JpegDecoder> decoder, double share,
                         std::uint64_t scratch_bytes)
    : device_(std::move(device)),
      decoder_(std::move(decoder)),
      share_(share),
      half_bytes_(std::max(scratch_bytes / 2 / kImageAlignment * kImageAlignment, kImageAlignment)),
      stream_(device_->make_stream()) {
  for (Half& half : halves_) {
    half = {DeviceMemory(device_, half_bytes_), device_->make_event(), device_->make_event()};
  }
}

DeviceJpegs::~DeviceJpegs() {
  device_->drain(stream_->handle());
  for (const Half& half : halves_) {
    try {
      half.used->wait();
    } catch (const std::exception&) {  // a failed device does no further work
    }
  }
}

bool DeviceJpegs::take(std::uint32_t output, const SampleContext& sample, const FieldBytes& jpeg, SlotFiller& filler,
                       JpegRow& row) const {
  thread_local ResampleTabulator tabulator;
  if (Random(sample.seed, sample.epoch, sample.draws(), kShareStream).uniform() >= share_) return false;
  const std::optional<JpegSize> size = decoder_->size(jpeg.bytes);
  if (!size || bytes_of(*size) > half_bytes_) return false;
  const std::optional<Geometry> geometry = filler.geometry(output, jpeg);
  if (!geometry || geometry->source != Size{size->width, size->height}) return false;
  tabulator.tabulate(*geometry, row.tables);
  row.size = *size;
  row.bytes.assign(jpeg.bytes.begin(), jpeg.bytes.end());
  return true;
}

// Invariant: a half is decoded into only after `used` of its previous images, and resampled only after `decoded`.
// Both are waits of streams, not of this thread.
void DeviceJpegs::decode(std::span<const JpegRow> rows, const std::byte* tables, const ImageColumn& column,
                         StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  for (std::uint32_t next = 0; next < rows.size();) {
    Half& half = halves_[std::exchange(next_half_, 1 - next_half_)];
    std::uint64_t filled = 0;
    placed_.clear();
    for (; next < rows.size(); ++next) {
      if (rows[next].in_slab.empty()) continue;
      const std::uint64_t bytes = bytes_of(rows[next].size);
      if (filled + bytes > half_bytes_) break;
      placed_.push_back({&rows[next], next, half.memory.data() + filled});
      filled += bytes;
    }
    if (!placed_.empty()) decode(placed_, half, tables, column, stream);
  }
}

void DeviceJpegs::decode(std::span<const Placed> images, Half& half, const std::byte* tables, const ImageColumn& column,
                         StreamHandle stream) {
  images_.clear();
  for (const Placed& image : images) images_.push_back({image.row->in_slab, image.pixels, pitch_of(image.row->size)});
  device_->wait(stream_->handle(), *half.used);
  try {
    decoder_->decode(images_, stream_->handle());
    half.decoded->record(stream_->handle());
    device_->wait(stream, *half.decoded);
  } catch (const Error& fault) {
    device_->drain(stream_->handle());        // some may be in progress
    half.decoded->record(stream_->handle());  // throws another error if the device has failed
    if (fault.is_data_fault()) throw RefusedJpeg(fault);
    throw;
  } catch (...) {
    device_->drain(stream_->handle());
    throw;
  }
  resample(images, tables, column, stream);
  half.used->record(stream);
  rows_.fetch_add(images.size(), std::memory_order_relaxed);
}

void DeviceJpegs::resample(std::span<const Placed> images, const std::byte* tables, const ImageColumn& column,
                           StreamHandle stream) {
  ResamplePass pass;
  pass.height = static_cast<std::int32_t>(column.height);
  pass.width = static_cast<std::int32_t>(column.width);
  const std::int64_t row_bytes = column.height * column.width * 3;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const JpegRow& row = *images[i].row;
    pass.image[pass.images++] = {.pixels = reinterpret_cast<const std::uint8_t*>(images[i].pixels),
                                 .pitch = static_cast<std::int64_t>(pitch_of(row.size)),
                                 .out = reinterpret_cast<std::uint8_t*>(column.pixels + images[i].number * row_bytes),
                                 .tables = reinterpret_cast<const std::int32_t*>(tables + row.tables_at),
                                 .taps_x = row.tables.taps_x,
                                 .taps_y = row.tables.taps_y,
                                 .vertical_first = row.tables.vertical_first,
                                 .flip = row.tables.flip,
                                 .flip_vertical = row.tables.flip_vertical};
    if (pass.images < ResamplePass::kMostImages && i + 1 < images.size()) continue;
    device_->run(pass, stream);
    pass.images = 0;
  }
}

}  // namespace penstock
