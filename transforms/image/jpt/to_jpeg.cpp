#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <penstock/error.hpp>
#include <transforms/image/jpeg/codecs.hpp>
#include <transforms/image/jpt/to_jpeg.hpp>

namespace penstock::jpt {
namespace {

Error bad(const char* cause) {
  return Error::corrupt(std::string("jpt: ") + cause);
}

std::uint8_t at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<std::uint8_t>(bytes[i]);
}

void copy_table(j_compress_ptr to, JHUFF_TBL*& table, const JHUFF_TBL* source) {
  if (source == nullptr) return;
  if (table == nullptr) table = jpeg_alloc_huff_table(reinterpret_cast<j_common_ptr>(to));
  std::memcpy(table->bits, source->bits, sizeof table->bits);
  std::memcpy(table->huffval, source->huffval, sizeof table->huffval);
  table->sent_table = FALSE;
}

/// A scan's header, and the tables of its components.
struct Scan {
  jpeg_scan_info info{};
  int dc_tables[MAX_COMPS_IN_SCAN] = {}, ac_tables[MAX_COMPS_IN_SCAN] = {};
};

std::optional<Scan> read_scan(std::span<const std::byte> header, const jpeg_decompress_struct& from) {
  if (header.empty()) return {};
  const std::size_t count = at(header, 0);
  if (count < 1 || count > kMostComponents || header.size() < 1 + 2 * count + 3) return {};
  Scan scan;
  scan.info.comps_in_scan = static_cast<int>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* begin = from.comp_info;
    const auto* end = begin + from.num_components;
    const auto* found =
        std::find_if(begin, end, [&](const jpeg_component_info& c) { return c.component_id == at(header, 1 + 2 * i); });
    if (found == end) return {};
    scan.info.component_index[i] = static_cast<int>(found - begin);
    const std::uint8_t tables = at(header, 2 + 2 * i);
    scan.dc_tables[i] = tables >> 4;
    scan.ac_tables[i] = tables & 15;
    if (scan.dc_tables[i] >= NUM_HUFF_TBLS || scan.ac_tables[i] >= NUM_HUFF_TBLS) return {};
  }
  const std::size_t next = 1 + 2 * count;
  scan.info.Ss = at(header, next);
  scan.info.Se = at(header, next + 1);
  scan.info.Ah = at(header, next + 2) >> 4;
  scan.info.Al = at(header, next + 2) & 15;
  return scan;
}

}  // namespace

struct JpegWriter::State : JpegRewriter {
  void begin(const Skeleton& skeleton, const Frame& frame);
  bool take_scans(const Skeleton& skeleton);
  void take_tables();
  void write(const Frame& frame, const Coefficients& coefficients, bool with_markers);

  std::vector<jpeg_scan_info> script;
  Skeleton made;
  std::vector<std::span<const std::byte>> made_scans;
};

// Reads the file's header, up to its first scan, and sets up the compressor for the same image.
void JpegWriter::State::begin(const Skeleton& skeleton, const Frame& frame) {
  restart();
  const std::span<const std::byte> header = skeleton.piece(0);
  if (header.empty()) throw bad("the JPEG header is missing");
  errors.guarded([&] {
    jpeg_mem_src(&from, reinterpret_cast<const unsigned char*>(header.data()), header.size());
    save_markers(from);
    jpeg_read_header(&from, TRUE);
  });
  bool same = from.image_width == frame.width && from.image_height == frame.height && from.data_precision == 8 &&
              from.num_components == static_cast<int>(frame.components);
  for (std::size_t c = 0; same && c < frame.components; ++c) {
    const jpeg_component_info& component = from.comp_info[c];
    same = component.h_samp_factor == static_cast<int>(frame.component[c].horizontal) &&
           component.v_samp_factor == static_cast<int>(frame.component[c].vertical) && component.quant_tbl_no >= 0 &&
           component.quant_tbl_no < NUM_QUANT_TBLS;
  }
  if (!same) throw bad("the JPEG header belongs to another image");
  // Quantisation tables may be anywhere in the file, not only in its header, so they are taken from the field.
  errors.guarded([&] {
    for (std::size_t c = 0; c < frame.components; ++c) {
      JQUANT_TBL*& table = from.quant_tbl_ptrs[from.comp_info[c].quant_tbl_no];
      if (table == nullptr) table = jpeg_alloc_quant_table(reinterpret_cast<j_common_ptr>(&from));
      const auto& steps = frame.quantisation[frame.component[c].quantisation];
      std::copy(steps.begin(), steps.end(), table->quantval);
    }
    jpeg_copy_critical_parameters(&from, &to);
  });
}

// Takes the scans in the file's order. Returns false if libjpeg would write them differently.
bool JpegWriter::State::take_scans(const Skeleton& skeleton) {
  script.clear();
  bool has_dc[kMostComponents] = {}, has_ac[kMostComponents] = {};
  for (const auto header : scan_headers(skeleton)) {
    const std::optional<Scan> scan = read_scan(header, from);
    if (!scan) return false;
    script.push_back(scan->info);
    for (int i = 0; i < scan->info.comps_in_scan; ++i) {
      const int c = scan->info.component_index[i];
      if (scan->info.Ss == 0 && !std::exchange(has_dc[c], true)) to.comp_info[c].dc_tbl_no = scan->dc_tables[i];
      if (scan->info.Se > 0 && !std::exchange(has_ac[c], true)) to.comp_info[c].ac_tbl_no = scan->ac_tables[i];
    }
  }
  if (script.empty()) return false;
  if (from.progressive_mode != 0 || script.size() > 1 || script[0].comps_in_scan != from.num_components) {
    to.scan_info = script.data();
    to.num_scans = static_cast<int>(script.size());
  }
  return true;
}

void JpegWriter::State::take_tables() {
  to.restart_interval = from.restart_interval;
  to.arith_code = from.arith_code;
  std::memcpy(to.arith_dc_L, from.arith_dc_L, sizeof to.arith_dc_L);
  std::memcpy(to.arith_dc_U, from.arith_dc_U, sizeof to.arith_dc_U);
  std::memcpy(to.arith_ac_K, from.arith_ac_K, sizeof to.arith_ac_K);
  errors.guarded([this] {
    for (int i = 0; i < NUM_HUFF_TBLS; ++i) {
      copy_table(&to, to.dc_huff_tbl_ptrs[i], from.dc_huff_tbl_ptrs[i]);
      copy_table(&to, to.ac_huff_tbl_ptrs[i], from.ac_huff_tbl_ptrs[i]);
    }
  });
}

void JpegWriter::State::write(const Frame& frame, const Coefficients& coefficients, bool with_markers) {
  errors.guarded([&] {
    jvirt_barray_ptr arrays[kMostComponents];
    auto* common = reinterpret_cast<j_common_ptr>(&to);
    for (std::size_t c = 0; c < frame.components; ++c)
      arrays[c] = to.mem->request_virt_barray(
          common, JPOOL_IMAGE, FALSE, static_cast<JDIMENSION>(frame.blocks_across(c)),
          static_cast<JDIMENSION>(frame.blocks_down(c)), static_cast<JDIMENSION>(frame.component[c].vertical));
    jpeg_write_coefficients(&to, arrays);
    for (std::size_t c = 0; c < frame.components; ++c) {
      for (std::size_t y = 0; y < frame.blocks_down(c); ++y) {
        JBLOCKARRAY row = to.mem->access_virt_barray(common, arrays[c], static_cast<JDIMENSION>(y), 1, TRUE);
        std::memcpy(row[0], coefficients.block(c, 0, y), frame.blocks_across(c) * sizeof(JBLOCK));
      }
    }
    if (with_markers) copy_markers(from, to);
    jpeg_finish_compress(&to);
  });
}

JpegWriter::JpegWriter() : state_(std::make_unique<State>()) {}
JpegWriter::~JpegWriter() = default;
JpegWriter::JpegWriter(JpegWriter&&) noexcept = default;

bool JpegWriter::as_it_was(const Skeleton& skeleton, const Frame& frame, const Coefficients& coefficients,
                           std::vector<std::byte>& out) {
  State& state = *state_;
  out.clear();
  try {
    state.begin(skeleton, frame);
    state.take_tables();
    if (!state.take_scans(skeleton)) return false;
    state.write(frame, coefficients, false);
  } catch (const Error& error) {
    if (!error.is_data_fault()) throw;
    return false;
  }
  take_apart(state.output.bytes(), state.made, state.made_scans);
  if (state.made_scans.size() != skeleton.scans()) return false;
  for (std::size_t i = 0; i <= skeleton.scans(); ++i) {
    const auto piece = skeleton.piece(i);
    out.insert(out.end(), piece.begin(), piece.end());
    if (i == skeleton.scans()) break;
    out.insert(out.end(), state.made_scans[i].begin(), state.made_scans[i].end());
  }
  return true;
}

void JpegWriter::baseline(const Skeleton& skeleton, const Frame& frame, const Coefficients& coefficients,
                          std::vector<std::byte>& out) {
  State& state = *state_;
  state.begin(skeleton, frame);
  state.to.optimize_coding = TRUE;
  state.write(frame, coefficients, true);
  const auto bytes = state.output.bytes();
  out.assign(bytes.begin(), bytes.end());
}

}  // namespace penstock::jpt
