// Rows of decoded pixels beside plain loops that do the same work: how much the loader costs where nothing is decoded.
//
//   penstock_raw_speed DATASET [FIELD] [--workers 2] [--rounds 5] [--seconds 1] [--batch-size 64]
//
// FIELD holds uint8 (H, W, 3) of one size, each value in one piece (HDF5 rows, .npy, `pack --decode`). The plain loops
// draw rows at random, pread each into a slab of the loader's size (or into a buffer of the thread's, then normalize it
// into the slab), and know no index, queue or order. Windows of all rows take turns; ratios are of neighbours in time.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <penstock/formats/error.hpp>
#include <penstock/loader/loader.hpp>
#include <penstock/loader/memory.hpp>
#include <penstock/loader/permutation.hpp>

namespace {

using namespace penstock;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string dataset, field;
  unsigned workers = 2;
  int rounds = 5;
  double seconds = 1;
  std::uint32_t batch_size = 64;
};

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
        throw Error::unsupported("sample " + std::to_string(i) + " is not one piece of a file, as stored");
      const Extent& extent = pieces[0].extent;
      values_.push_back({files_.descriptors[extent.file], static_cast<off_t>(extent.offset)});
    }
  }

  /// Samples per second; uint8 (H, W, 3) as stored.
  double read() {
    return run(3 * pixels_, [&](const Value& value, std::byte* row) { fetch(value, row); });
  }

  /// Samples per second; float32 (3, H, W), normalized.
  double read_and_normalize() {
    return run(3 * pixels_ * sizeof(float), [&](const Value& value, std::byte* row) {
      thread_local std::vector<std::uint8_t> buffer;
      buffer.resize(3 * pixels_);
      fetch(value, buffer.data());
      float scale[3], bias[3];
      for (std::size_t c = 0; c < 3; ++c) {
        scale[c] = 1 / (255 * kDeviation[c]);
        bias[c] = -kMean[c] / kDeviation[c];
      }
      auto* out = reinterpret_cast<float*>(row);
      for (std::size_t i = 0; i < pixels_; ++i) {
        for (std::size_t c = 0; c < 3; ++c)
          out[c * pixels_ + i] = static_cast<float>(buffer[3 * i + c]) * scale[c] + bias[c];
      }
    });
  }

 private:
  void fetch(const Value& value, void* to) const {
    const auto bytes = static_cast<ssize_t>(3 * pixels_);
    if (::pread(value.file, to, 3 * pixels_, value.offset) != bytes) throw Error::io(errno, "a plain read fell short");
  }

  template <class Fill>
  double run(std::size_t row_bytes, Fill fill) {
    const std::size_t slab_bytes = row_bytes * options_.batch_size;
    slabs_memory_.reserve(slab_bytes * slabs_);
    std::atomic<std::uint64_t> next{0};
    const auto begin = Clock::now();
    const auto end = begin + std::chrono::duration<double>(options_.seconds);
    const auto work = [&] {
      while (Clock::now() < end) {
        const std::uint64_t turn = next.fetch_add(1, std::memory_order_relaxed);
        const std::size_t slot = turn % (slabs_ * options_.batch_size);
        fill(values_[order_(turn % values_.size())], slabs_memory_.data() + slot * row_bytes);
      }
    };
    {
      std::vector<std::jthread> threads;
      for (unsigned i = 0; i < options_.workers; ++i) threads.emplace_back(work);
    }
    return static_cast<double>(next.load()) / std::chrono::duration<double>(Clock::now() - begin).count();
  }

  OpenFiles files_;
  const Options& options_;
  Permutation order_;
  std::size_t slabs_, pixels_ = 0;
  Memory slabs_memory_;
  std::vector<Value> values_;
};

Loader make_loader(const Dataset& dataset, const Options& options, const Chain& chain) {
  return Loader(dataset, {.batch_size = options.batch_size,
                          .shuffle = true,
                          .seed = 1,
                          .workers = options.workers,
                          .fields = {{"value", field(options.field) | chain}},
                          .last = Last::drop});
}

/// Samples per second, once as many batches as there are slabs have gone by.
double measure(Loader& loader, const Options& options) {
  const std::uint64_t warm = loader.stats().slabs;
  std::uint64_t batches = 0;
  Clock::time_point begin{};
  for (;;) {
    for (std::optional<Batch> batch = loader.next(); batch; batch = loader.next()) {
      const auto now = Clock::now();
      if (batches == warm) begin = now;
      if (batches > warm && now - begin > std::chrono::duration<double>(options.seconds)) {
        return static_cast<double>((batches - warm) * options.batch_size) /
               std::chrono::duration<double>(now - begin).count();
      }
      ++batches;
    }
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Row {
  const char* name;
  std::vector<double> rates, ratios;
};

void print(const Row& row) {
  std::printf("%-44s %10.0f  [%.0f-%.0f]", row.name, median(row.rates), std::ranges::min(row.rates),
              std::ranges::max(row.rates));
  if (!row.ratios.empty())
    std::printf("  %.3f [%.3f-%.3f]", median(row.ratios), std::ranges::min(row.ratios), std::ranges::max(row.ratios));
  std::printf("\n");
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
  Row plain_read{"plain: pread into the slab", {}, {}},
      plain_float{"plain: pread, normalize to float32 (C, H, W)", {}, {}};
  std::array rows{Row{"penstock: uint8 (H, W, C), as stored", {}, {}}, Row{"penstock: uint8 (C, H, W)", {}, {}},
                  Row{"penstock: normalized float32 (C, H, W)", {}, {}}};
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double rate = 0;
      std::size_t slabs = 0;
      {
        Loader loader = make_loader(dataset, options, chains[i]);
        slabs = loader.stats().slabs;
        rate = measure(loader, options);
        if (round == 0 && i == 0) std::printf("engine: %s\n", loader.stats().engine_reason.c_str());
      }
      Plain plain(dataset, number, options, slabs);
      const double reference = i < 2 ? plain.read() : plain.read_and_normalize();
      (i < 2 ? plain_read : plain_float).rates.push_back(reference);
      rows[i].rates.push_back(rate);
      rows[i].ratios.push_back(rate / reference);
    }
  }
  std::printf("%-44s %10s  %s\n", "", "samples/s", "[lowest-highest]  penstock / plain, pair by pair");
  print(plain_read);
  print(rows[0]);
  print(rows[1]);
  print(plain_float);
  print(rows[2]);
}

Options parse(std::span<char*> arguments) {
  Options options;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const bool option = argument.starts_with("--");
    if (!option) {
      names.emplace_back(argument);
      continue;
    }
    if (i + 1 == arguments.size()) throw Error::invalid_argument(std::string(argument) + " needs a number");
    const double number = std::atof(arguments[++i]);
    if (argument == "--workers")
      options.workers = static_cast<unsigned>(number);
    else if (argument == "--rounds")
      options.rounds = static_cast<int>(number);
    else if (argument == "--seconds")
      options.seconds = number;
    else if (argument == "--batch-size")
      options.batch_size = static_cast<std::uint32_t>(number);
    else
      throw Error::invalid_argument("no option is called " + std::string(argument));
    if (number <= 0) throw Error::invalid_argument(std::string(argument) + " needs a number above 0");
  }
  if (names.empty() || names.size() > 2) throw Error::invalid_argument("usage: penstock_raw_speed DATASET [FIELD]");
  options.dataset = names[0];
  if (names.size() == 2) options.field = names[1];
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse({argv + 1, static_cast<std::size_t>(argc - 1)}));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock_raw_speed: error: %s\n", error.what());
    return 1;
  }
}
