#include <algorithm>
#include <cstring>

#include <transforms/image/dct/idct_reduced.hpp>
#include <transforms/image/jpeg/baseline_decoder.hpp>
#include <transforms/image/jpeg/read_frame.hpp>

namespace penstock::jpeg {
namespace {

constexpr unsigned kMark = 0xFF, kFirstRestart = 0xD0, kLastRestart = 0xD7;

// dequantise() multiplies signed 16-bit numbers.
constexpr std::uint16_t kMostFactor = (1 << 15) - 1;

HuffmanCode code_of(const JHUFF_TBL& table) {
  HuffmanCode code;
  std::copy(std::begin(table.bits), std::end(table.bits), code.counts.begin());
  std::copy(std::begin(table.huffval), std::end(table.huffval), code.symbols.begin());
  return code;
}

/// Returns whether the file has a single scan with all components and 8-bit Huffman-coded baseline data.
bool is_baseline(const jpeg_decompress_struct& jpeg) {
  return !jpeg.progressive_mode && !jpeg.arith_code && jpeg.data_precision == 8 &&
         jpeg.comps_in_scan == jpeg.num_components && jpeg.Ss == 0 && jpeg.Se == DCTSIZE2 - 1 && jpeg.Ah == 0 &&
         jpeg.Al == 0;
}

}  // namespace

// Source: ITU-T T.81, B.1.1.5 (a zero byte follows each 0xFF of the data) and F.2.2.4.
bool EntropyData::assign(std::span<const std::byte> data) {
  if (bytes_.size() < data.size() + kSlack) bytes_.resize(data.size() + data.size() / 4 + kSlack);
  ends_.clear();
  const auto* from = reinterpret_cast<const std::uint8_t*>(data.data());
  const std::uint8_t* const end = from + data.size();
  std::uint8_t* to = bytes_.data();
  while (from < end) {
    const auto left = static_cast<std::size_t>(end - from);
    const auto* mark = static_cast<const std::uint8_t*>(std::memchr(from, kMark, left));
    const std::size_t plain = mark == nullptr ? left : static_cast<std::size_t>(mark - from);
    std::memcpy(to, from, plain);
    to += plain;
    from += plain;
    if (end - from < 2) break;
    const unsigned after = from[1];
    if (after == kMark) return false;
    if (after == 0) {
      *to++ = kMark;
    } else if (after >= kFirstRestart && after <= kLastRestart) {
      if (after - kFirstRestart != ends_.size() % 8) return false;
      ends_.push_back(static_cast<std::size_t>(to - bytes_.data()));
    } else {
      break;
    }
    from += 2;
  }
  ends_.push_back(static_cast<std::size_t>(to - bytes_.data()));
  // ScanReader may read past the segment's end, so these bytes must be initialised.
  std::fill_n(to, kSlack, std::uint8_t{0});
  return true;
}

bool BaselineDecoder::begin(const jpeg_decompress_struct& jpeg) {
  if (!is_baseline(jpeg) || jpt::read_frame(jpeg, frame_) != nullptr) return false;
  // A scan with a single component is not interleaved. Its MCU is one block for any sampling factors.
  if (frame_.components == 1) frame_.component[0].horizontal = frame_.component[0].vertical = 1;
  std::size_t blocks = 0;
  for (std::size_t c = 0; c < frame_.components; ++c)
    blocks += std::size_t{frame_.component[c].horizontal} * frame_.component[c].vertical;
  frame_.shrink(jpeg.scale_denom);
  return blocks <= ScanReader::kMostMcuBlocks && build_tables(jpeg);
}

bool BaselineDecoder::build_tables(const jpeg_decompress_struct& jpeg) {
  components_.clear();
  for (std::size_t c = 0; c < frame_.components; ++c) {
    const jpeg_component_info& info = jpeg.comp_info[c];
    if (jpeg.cur_comp_info[c] != &info) return false;
    const auto dc = static_cast<std::size_t>(info.dc_tbl_no), ac = static_cast<std::size_t>(info.ac_tbl_no);
    const auto step = static_cast<std::size_t>(info.quant_tbl_no);
    if (std::max(dc, ac) >= NUM_HUFF_TBLS || step >= NUM_QUANT_TBLS) return false;
    const JHUFF_TBL *dc_code = jpeg.dc_huff_tbl_ptrs[dc], *ac_code = jpeg.ac_huff_tbl_ptrs[ac];
    const JQUANT_TBL* steps = jpeg.quant_tbl_ptrs[step];
    if (dc_code == nullptr || ac_code == nullptr || steps == nullptr) return false;
    if (!dc_[dc].build(code_of(*dc_code), Symbols::dc) || !ac_[ac].build(code_of(*ac_code))) return false;
    std::ranges::copy(steps->quantval, factors_[c].begin());
    if (std::ranges::max(factors_[c]) > kMostFactor) return false;
    components_.push_back({.dc = &dc_[dc],
                           .ac = &ac_[ac],
                           .horizontal = frame_.component[c].horizontal,
                           .vertical = frame_.component[c].vertical,
                           .wanted = {},
                           .coefficients = nullptr,
                           .row_size = 0});
  }
  return true;
}

void BaselineDecoder::make_rows() {
  for (std::size_t c = 0; c < frame_.components; ++c) {
    ScanComponent& component = components_[c];
    component.wanted = raster_.plane(c).blocks();
    component.row_size = component.wanted.width * 64 + std::max(kBlockSlack, jpt::kReducedSlack * 64);
    coefficients_[c].resize(std::max(coefficients_[c].size(), component.row_size * component.vertical));
    component.coefficients = coefficients_[c].data();
  }
}

bool BaselineDecoder::draw_row(std::size_t row) {
  for (std::size_t c = 0; c < frame_.components; ++c) {
    const ScanComponent& component = components_[c];
    const jpt::BlockRange& wanted = component.wanted;
    jpt::Plane& plane = raster_.plane(c);
    for (std::size_t i = 0; i < component.vertical; ++i) {
      const std::size_t y = row * component.vertical + i;
      if (y - wanted.y >= wanted.height) continue;  // unsigned: true also for rows above the first one
      std::int16_t* const blocks = component.coefficients + i * component.row_size;
      if (!dequantise(blocks, wanted.width, factors_[c])) return false;
      plane.draw(wanted.x, y, blocks, wanted.width);
    }
  }
  return true;
}

/// Reads the segments that hold wanted blocks. Skips segments before them, and ignores those after them.
bool BaselineDecoder::read_scan(std::size_t restart_interval) {
  std::size_t top = frame_.mcus_down(), bottom = 0;
  for (const ScanComponent& component : components_) {
    const jpt::BlockRange& wanted = component.wanted;
    top = std::min(top, wanted.y / component.vertical);
    bottom = std::max(bottom, (wanted.y + wanted.height - 1) / component.vertical + 1);
  }
  const std::size_t across = frame_.mcus_across(), end = bottom * across;
  const std::size_t interval = restart_interval != 0 ? restart_interval : across * frame_.mcus_down();
  const std::size_t first = top * across / interval;
  for (std::size_t mcu = first * interval, stop = mcu; mcu < end;) {
    if (mcu == stop) {
      if (mcu / interval >= data_.segments()) return false;
      reader_.begin(data_.segment(mcu / interval));
      stop = mcu + interval;
    }
    const std::size_t row = mcu / across, row_end = (row + 1) * across, until = std::min({stop, row_end, end});
    if (!reader_.read(components_, row, mcu - row * across, until - row * across)) return false;
    if (until == row_end && !draw_row(row)) return false;
    mcu = until;
  }
  return true;
}

bool BaselineDecoder::decode(const jpeg_decompress_struct& jpeg, const Region& region, std::size_t channels,
                             std::uint8_t* out) {
  if (!begin(jpeg)) return false;
  const auto* data = reinterpret_cast<const std::byte*>(jpeg.src->next_input_byte);
  if (!data_.assign({data, jpeg.src->bytes_in_buffer})) return false;
  raster_.begin(frame_, region);
  make_rows();
  if (!read_scan(jpeg.restart_interval)) return false;
  raster_.write(frame_, region, channels, out);
  return true;
}

}  // namespace penstock::jpeg
