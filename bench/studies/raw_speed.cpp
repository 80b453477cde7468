// Compares rows of decoded pixels with plain loops that do the same work: the loader's cost if nothing is decoded.
//
//   penstock_raw_speed DATASET [FIELD] [--workers 2] [--rounds 5] [--seconds 1] [--batch-size 64]
//
// FIELD holds uint8 (H, W, 3) of one size, each value contiguous (HDF5 rows, .npy, `pack --decode`). The plain loops
// draw rows at random and pread each into a slab of the loader's size. Or they read it into a buffer of the thread,
// then normalize it into the slab. They have no index, queue or order. Windows of all rows take turns; ratios are
// between neighbours in time.
#include <array>

#include <fcntl.h>
#include <unistd.h>

#include <base/memory.hpp>
#include <formats/extent.hpp>
#include <order/permutation/permutation.hpp>

#include "beside_loops.hpp"

namespace {

using namespace penstock;
using namespace penstock::beside;

const std::vector<float> kMean{0.485F, 0.456F, 0.406F}, kDeviation{0.229F, 0.224F, 0.225F};

struct Value {
  int file;
  off_t offset;
};

struct OpenFiles {
  std::vector<int> descriptors;
  explicit OpenFiles(const Dataset& dataset) {
    for (std::uint32_t i = 0; i < dataset.file_count(); ++i) {
      descriptors.push_back(::open(dataset.file(i).path.c_str(), O_RDONLY | O_CLOEXEC));
      if (descriptors.back() < 0) throw Error::io(errno, "cannot open", {.shard = dataset.file(i).path.string()});
    }
  }
  ~OpenFiles() {
    for (const int fd : descriptors) ::close(fd);
  }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;
};

/// The loops without a loader, over the extents of one field.
class Plain {
 public:
  Plain(const Dataset& dataset, std::uint32_t field, const Options& options, std::size_t slabs)
      : files_(dataset), options_(options), order_(dataset.size(), 1, 0), slabs_(slabs) {
    const Shape& shape = dataset.fields()[field].shape;
    pixels_ = static_cast<std::size_t>(shape[0] * shape[1]);
    std::vector<Piece> pieces;
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      if (!dataset.locate(i, field, pieces) || pieces.size() != 1 || pieces[0].kind != Piece::Kind::extent)
        throw Error::unsupported("sample " + std::to_string(i) + " is not stored in one piece of a file");
      const Extent& extent = pieces[0].extent;
      values_.push_back({files_.descriptors[extent.file], static_cast<off_t>(extent.offset)});
    }
  }

  /// uint8 (H, W, 3) as stored.
  double read() {
    return run(3 * pixels_, [&](std::uint64_t turn, std::byte* row) { fetch(turn, row); });
  }

  /// float32 (3, H, W), normalized.
  double read_and_normalize() {
    float scale[3], bias[3];
    for (std::size_t c = 0; c < 3; ++c) {
      scale[c] = 1 / (255 * kDeviation[c]);
      bias[c] = -kMean[c] / kDeviation[c];
    }
    return run(3 * pixels_ * sizeof(float), [&](std::uint64_t turn, std::byte* row) {
      thread_local std::vector<std::uint8_t> buffer;
      buffer.resize(3 * pixels_);
      fetch(turn, buffer.data());
      auto* out = reinterpret_cast<float*>(row);
      for (std::size_t i = 0; i < pixels_; ++i) {
        for (std::size_t c = 0; c < 3; ++c)
          out[c * pixels_ + i] = static_cast<float>(buffer[3 * i + c]) * scale[c] + bias[c];
      }
    });
  }

 private:
  void fetch(std::uint64_t turn, void* to) const {
    const Value& value = values_[order_(turn % values_.size())];
    const auto bytes = static_cast<ssize_t>(3 * pixels_);
    if (::pread(value.file, to, 3 * pixels_, value.offset) != bytes)
      throw Error::io(errno, "a plain read returned too few bytes");
  }

  template <class Fill>
  double run(std::size_t row_bytes, Fill fill) {
    slab_memory_.reserve(row_bytes * options_.batch_size * slabs_);
    return run_loop(options_, slab_memory_, slabs_, row_bytes, fill);
  }

  OpenFiles files_;
  const Options& options_;
  Permutation order_;
  std::size_t slabs_, pixels_ = 0;
  Memory slab_memory_;
  std::vector<Value> values_;
};

Loader make_loader(const Dataset& dataset, const Options& options, const Chain& chain) {
  return Loader(dataset, {.batch_size = options.batch_size,
                          .shuffle = true,
                          .seed = 1,
                          .workers = options.workers,
                          .transforms = {{"value", field(options.field) | chain}},
                          .last_batch = Last::drop});
}

std::uint32_t pixel_field(const Dataset& dataset, const std::string& wanted) {
  for (std::uint32_t i = 0; i < dataset.fields().size(); ++i) {
    const FieldSchema& field = dataset.fields()[i];
    const bool pixels = field.fixed && field.dtype == DType::u8 && field.shape.size() == 3 && field.shape[2] == 3;
    if (pixels && (wanted.empty() || field.name == wanted)) return i;
  }
  throw Error::invalid_argument("no field " + wanted + " of uint8 (H, W, 3)", {.dataset = dataset.path().string()});
}

void run(Options options) {
  const Dataset dataset = penstock::open(options.dataset);
  const std::uint32_t number = pixel_field(dataset, options.field);
  options.field = dataset.fields()[number].name;
  const std::array chains{image::decode() | image::channels_last(), image::decode(),
                          image::normalize(kMean, kDeviation)};
  Line plain_read{"plain: pread into the slab"}, plain_float{"plain: pread, normalize to float32 (C, H, W)"};
  std::array lines{Line{"penstock: uint8 (H, W, C), as stored"}, Line{"penstock: uint8 (C, H, W)"},
                   Line{"penstock: normalized float32 (C, H, W)"}};
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      double rate = 0;
      std::size_t slabs = 0;
      {
        Loader loader = make_loader(dataset, options, chains[i]);
        slabs = loader.stats().slabs;
        rate = run_loader(loader, options);
        if (round == 0 && i == 0) std::printf("engine: %s\n", loader.stats().engine_reason.c_str());
      }
      Plain plain(dataset, number, options, slabs);
      const double reference = i < 2 ? plain.read() : plain.read_and_normalize();
      (i < 2 ? plain_read : plain_float).rates.push_back(reference);
      lines[i].rates.push_back(rate);
      lines[i].ratios.push_back(rate / reference);
    }
  }
  print_heading();
  print(plain_read);
  print(lines[0]);
  print(lines[1]);
  print(plain_float);
  print(lines[2]);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("penstock_raw_speed", {argv, static_cast<std::size_t>(argc)}, run);
}
