// Usage: photograph_speed FOLDER [--rounds N] [--every N] [--tiles PIXELS,...] [--streams]
//
// Photographs as JPEG files, decoded by libjpeg-turbo, and as `jpt` fields, by one thread: the same crops of
// RandomResizedCrop (area 0.08 to 1, sides 3:4 to 4:3) and whole images, round by round in turn, and how the time of
// the fields' decoder divides. Medians of the thread's own CPU time, so that neighbours on the machine count little.
// --tiles makes the fields with tiles of other sizes. --streams compresses the symbols of each tile by zstd instead.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#ifdef PENSTOCK_ZSTD
#include <zstd.h>
#endif

#include <penstock/transforms/jpeg.hpp>
#include <penstock/transforms/jpt.hpp>
#include <penstock/transforms/jpt/encoder.hpp>
#include <penstock/transforms/jpt/idct.hpp>
#include <penstock/transforms/jpt/picture.hpp>

namespace {

using namespace penstock;
using Bytes = std::vector<std::byte>;

const FieldSchema kSchema{.name = "jpg", .codec = {}};

struct Options {
  std::string folder;
  std::vector<unsigned> tiles{jpt::kTilePixels};
  unsigned rounds = 5;
  std::size_t every = 1;
  bool streams = false;
};

struct Photographs {
  std::vector<Bytes> files, fields;
};

double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::vector<Bytes> read_files(const Options& options) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.folder))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<Bytes> files;
  for (std::size_t i = 0; i < paths.size(); i += options.every) {
    Bytes file = read_file(paths[i]);
    if (jpeg_codec().recognises(file)) files.push_back(std::move(file));
  }
  return files;
}

std::size_t total(const std::vector<Bytes>& values) {
  std::size_t bytes = 0;
  for (const Bytes& value : values) bytes += value.size();
  return bytes;
}

/// The files that can be recoded, and their fields; says how long it took and what stayed.
Photographs recode(std::vector<Bytes> files, unsigned tile_pixels) {
  Photographs made;
  jpt::Encoder encoder(tile_pixels);
  std::map<std::string, int> kept;
  std::size_t exact = 0;
  const double begin = now();
  for (Bytes& file : files) {
    const auto field = encoder.encode(file);
    if (field.empty()) {
      ++kept[encoder.kept_because()];
      continue;
    }
    exact += encoder.exact() ? 1U : 0U;
    made.fields.emplace_back(field.begin(), field.end());
    made.files.push_back(std::move(file));
  }
  const double seconds = now() - begin;
  const auto count = static_cast<double>(made.files.size());
  std::printf(
      "tiles of %u pixels: %zu photographs of %.1f KB, %.1f KB recoded (%.4f), %zu come back to the byte, %.0f/s\n",
      tile_pixels, made.files.size(), static_cast<double>(total(made.files)) / count / 1e3,
      static_cast<double>(total(made.fields)) / count / 1e3,
      static_cast<double>(total(made.fields)) / static_cast<double>(total(made.files)), exact, count / seconds);
  for (const auto& [reason, times] : kept) std::printf("  kept %d: %s\n", times, reason.c_str());
  return made;
}

Region random_resized_crop(std::int64_t width, std::int64_t height, std::mt19937& random) {
  std::uniform_real_distribution<double> area(0.08, 1), ratio(std::log(3.0 / 4), std::log(4.0 / 3));
  for (int tries = 0; tries < 10; ++tries) {
    const double pixels = static_cast<double>(width * height) * area(random), sides = std::exp(ratio(random));
    const auto w = std::llround(std::sqrt(pixels * sides)), h = std::llround(std::sqrt(pixels / sides));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const auto x = static_cast<std::int64_t>(random() % static_cast<unsigned>(width - w + 1));
    return {x, static_cast<std::int64_t>(random() % static_cast<unsigned>(height - h + 1)), w, h};
  }
  const std::int64_t side = std::min(width, height);
  return {(width - side) / 2, (height - side) / 2, side, side};
}

/// Seconds a photograph.
double decode_all(const Codec& codec, const std::vector<Bytes>& values, bool whole) {
  const auto decoder = codec.decoder(kSchema);
  std::mt19937 random(7);
  Bytes out;
  const double begin = now();
  for (const Bytes& value : values) {
    const FieldBytes field{.schema = &kSchema, .bytes = value};
    const Shape shape = decoder->peek(field).shape;
    Region region{0, 0, shape[1], shape[0]};
    if (!whole) region = random_resized_crop(shape[1], shape[0], random);
    const Shape part{region.height, region.width, 3};
    if (out.size() < element_count(part)) out.resize(element_count(part));
    decoder->decode(field, whole ? nullptr : &region, {out.data(), DType::u8, part});
  }
  return (now() - begin) / static_cast<double>(values.size());
}

/// Seconds a photograph in each part of decoding whole images. Each part repeats those before it: differences count.
struct Split {
  double tables, symbols, blocks, samples;
};

Split split_of(const std::vector<Bytes>& fields) {
  jpt::Head head;
  jpt::TileTables tables;
  jpt::Tile tile;
  std::array<std::int16_t, 64> steps;
  steps.fill(3);
  std::vector<std::int16_t> blocks((jpt::kMostTileBlocks + jpt::kIdctSlack) * 64);
  std::vector<std::uint8_t> samples(8 * 1024);
  auto run = [&](int parts) {
    const double begin = now();
    for (const Bytes& field : fields) {
      jpt::parse_head(field, head);
      tables.build(head);
      for (std::size_t i = 0; parts > 0 && i < head.frame.tiles(); ++i) {
        const std::size_t at = head.tile_begin(i);
        tile.decode(head.frame, tables, i, std::span(field).subspan(at, head.tile_end(i) - at));
        for (std::size_t klass = 0; parts > 1 && klass < jpt::kClasses; ++klass) {
          const jpt::TileClass& all = tile.of(klass);
          jpt::Values values = all.begin;
          for (std::size_t b = 0; b < all.blocks; b += 16) {
            const std::size_t count = std::min<std::size_t>(16, all.blocks - b);
            jpt::expand(all.masks.data() + b, all.dc.data() + b, count, steps, values, blocks.data());
            if (parts > 2) jpt::idct(blocks.data(), count, samples.data(), 1024);
          }
        }
      }
    }
    return (now() - begin) / static_cast<double>(fields.size());
  };
  const double tables_only = run(0), with_symbols = run(1), with_blocks = run(2), with_samples = run(3);
  return {tables_only, with_symbols - tables_only, with_blocks - with_symbols, with_samples - with_blocks};
}

void compare(const Photographs& photographs, unsigned rounds) {
  std::vector<double> times[4], parts[4];
  for (unsigned round = 0; round < rounds; ++round) {
    for (const bool whole : {false, true}) {
      times[whole ? 2 : 0].push_back(decode_all(jpeg_codec(), photographs.files, whole));
      times[whole ? 3 : 1].push_back(decode_all(jpt_codec(), photographs.fields, whole));
    }
    const Split split = split_of(photographs.fields);
    parts[0].push_back(split.tables);
    parts[1].push_back(split.symbols);
    parts[2].push_back(split.blocks);
    parts[3].push_back(split.samples);
  }
  auto line = [&](const char* what, std::size_t i) {
    const double jpeg = median(times[i]), field = median(times[i + 1]);
    std::printf("  %-6s JPEG %7.1f us, recoded %7.1f us: %.2f times as fast\n", what, 1e6 * jpeg, 1e6 * field,
                jpeg / field);
  };
  line("crop", 0);
  line("whole", 2);
  double rest = median(times[3]);
  for (const auto& part : parts) rest -= median(part);
  std::printf(
      "  of a whole one: tables %.1f us, decompress %.1f us, expand %.1f us, inverse DCT %.1f us, upsampling and "
      "colour %.1f us\n",
      1e6 * median(parts[0]), 1e6 * median(parts[1]), 1e6 * median(parts[2]), 1e6 * median(parts[3]), 1e6 * rest);
}

#ifdef PENSTOCK_ZSTD
/// The symbols of each tile, each run for itself, compressed by zstd: bytes and the time to have them back.
void compare_level(const std::vector<Bytes>& fields, int level) {
  std::size_t plain = 0, stored = 0;
  double seconds = 0;
  jpt::Picture picture;
  jpt::Head head;
  jpt::Coefficients all;
  jpt::TileSymbols symbols;
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> reader{ZSTD_createDCtx(), ZSTD_freeDCtx};
  for (const Bytes& field : fields) {
    jpt::parse_head(field, head);
    all.assign(head.frame);
    picture.coefficients(field, head, [&](std::size_t c, std::size_t x, std::size_t y, const std::int16_t* block) {
      std::memcpy(all.block(c, x, y), block, 128);
    });
    for (std::size_t tile = 0; tile < head.frame.tiles(); ++tile) {
      jpt::collect(
          head.frame, tile, &all,
          [](const void* image, std::size_t c, std::size_t x, std::size_t y) {
            return static_cast<const jpt::Coefficients*>(image)->block(c, x, y);
          },
          symbols);
      stored += 2 * symbols.escapes.size();
      for (const auto& run : symbols.runs) {
        if (run.empty()) continue;
        std::vector<char> packed(ZSTD_compressBound(run.size())), back(run.size());
        const std::size_t size = ZSTD_compress(packed.data(), packed.size(), run.data(), run.size(), level);
        const double begin = now();
        ZSTD_decompressDCtx(reader.get(), back.data(), back.size(), packed.data(), size);
        seconds += now() - begin;
        plain += run.size();
        stored += size;
      }
    }
  }
  const auto count = static_cast<double>(fields.size());
  std::printf("  zstd level %d: %.1f KB of symbols become %.1f KB, %.1f us to decompress\n", level,
              static_cast<double>(plain) / count / 1e3, static_cast<double>(stored) / count / 1e3,
              1e6 * seconds / count);
}
void compare_streams(const std::vector<Bytes>& fields) {
  for (const int level : {1, 3}) compare_level(fields, level);
}
#else
void compare_streams(const std::vector<Bytes>&) {
  std::printf("  zstd is not linked\n");
}
#endif

std::vector<unsigned> numbers(const std::string& text) {
  std::vector<unsigned> found;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    unsigned value = 0;
    const auto [next, fault] = std::from_chars(at, end, value);
    if (fault != std::errc() || value == 0) return {};
    found.push_back(value);
    at = next;
  }
  return found;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--streams") {
      options.streams = true;
      continue;
    }
    if (!word.starts_with("--")) {
      options.folder = word;
      continue;
    }
    const std::vector<unsigned> values = ++i < argc ? numbers(argv[i]) : std::vector<unsigned>{};
    if (values.empty()) return false;
    if (word == "--rounds") {
      options.rounds = values[0];
    } else if (word == "--every") {
      options.every = values[0];
    } else if (word == "--tiles") {
      options.tiles = values;
    } else {
      return false;
    }
  }
  return !options.folder.empty();
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: photograph_speed FOLDER [--rounds N] [--every N] [--tiles PIXELS,...] [--streams]\n");
    return 2;
  }
  for (const unsigned tile : options.tiles) {
    const Photographs photographs = recode(read_files(options), tile);
    if (photographs.files.empty()) continue;
    compare(photographs, options.rounds);
    if (options.streams) compare_streams(photographs.fields);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "photograph_speed: %s\n", error.what());
  return 1;
}
