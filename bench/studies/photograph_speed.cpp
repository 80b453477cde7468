// Usage: photograph_speed FOLDER [--rounds N] [--every N] [--tiles PIXELS,...] [--streams]
//
// Compares photographs as JPEG files, decoded by libjpeg-turbo and by the codec, with `jpt` fields, in one thread. All
// decode the same crops of RandomResizedCrop (area 0.08 to 1, sides 3:4 to 4:3) and whole images, in turns. Also
// measures the parts of the fields' decoder, and resampling to 224 x 224. Prints medians of the thread's own CPU time,
// which other programs on the machine affect little.
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

#include <transforms/image/dct/idct.hpp>
#include <transforms/image/jpeg/codecs.hpp>
#include <transforms/image/jpeg/jpeg.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/jpt.hpp>
#include <transforms/image/jpt/picture.hpp>
#include <transforms/image/kernels/resample.hpp>

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

/// Re-encodes the files that can be re-encoded. Prints the time, and the files that were left.
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
      "tiles of %u pixels: %zu photographs of %.1f KB, %.1f KB re-encoded (%.4f), %zu restored byte for byte, %.0f/s\n",
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

/// Seconds per photograph.
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

/// Seconds per photograph with libjpeg-turbo, called as a hand-written loop would: for a crop, only its lines and the
/// columns around it.
double libjpeg_turbo_all(const std::vector<Bytes>& files, bool whole) {
  JpegDecompressor decompressor;
  jpeg_decompress_struct& jpeg = decompressor.jpeg();
  std::mt19937 random(7);
  std::vector<std::uint8_t> line, out;
  const double begin = now();
  for (const Bytes& file : files) {
    decompressor.abort();
    decompressor.guarded([&] {
      jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
      jpeg_read_header(&jpeg, TRUE);
      jpeg.out_color_space = JCS_RGB;
      jpeg_start_decompress(&jpeg);
    });
    Region region{0, 0, jpeg.output_width, jpeg.output_height};
    if (!whole) region = random_resized_crop(region.width, region.height, random);
    const auto row_bytes = static_cast<std::size_t>(3 * region.width);
    auto left = static_cast<JDIMENSION>(region.x), columns = static_cast<JDIMENSION>(region.width);
    if (out.size() < row_bytes * static_cast<std::size_t>(region.height))
      out.resize(row_bytes * static_cast<std::size_t>(region.height));
    decompressor.guarded([&] {
      if (!whole) jpeg_crop_scanline(&jpeg, &left, &columns);
      if (region.y > 0) jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(region.y));
    });
    line.resize(std::size_t{jpeg.output_width} * 3);
    for (std::int64_t y = 0; y < region.height; ++y) {
      JSAMPROW row = whole ? out.data() + static_cast<std::size_t>(y) * row_bytes : line.data();
      decompressor.guarded([&] { jpeg_read_scanlines(&jpeg, &row, 1); });
      if (!whole)
        std::memcpy(out.data() + static_cast<std::size_t>(y) * row_bytes,
                    line.data() + 3 * (static_cast<std::size_t>(region.x) - left), row_bytes);
    }
  }
  return (now() - begin) / static_cast<double>(files.size());
}

/// Seconds per photograph in each part of decoding. Each part repeats those before it, so differences count.
struct Split {
  double tables, symbols, blocks, samples;
};

/// Decodes like jpt::Picture, up to the samples.
class Parts {
 public:
  Parts() { steps_.fill(3); }

  /// `parts`: 0 tables; 1 and symbols; 2 and coefficients; 3 and samples.
  void run(const Bytes& field, bool whole, std::mt19937& random, int parts) {
    jpt::parse_head(field, head_);
    tables_.build(head_);
    const jpt::Frame& frame = head_.frame;
    Region region{0, 0, frame.width, frame.height};
    if (!whole) region = random_resized_crop(region.width, region.height, random);
    if (parts == 0) return;
    const jpt::TileRange tiles = jpt::needed_tiles(frame, region);
    for (std::size_t y = tiles.y; y < tiles.end_y; ++y) {
      for (std::size_t x = tiles.x; x < tiles.end_x; ++x) {
        const std::size_t number = y * frame.tiles_across() + x, at = head_.tile_begin(number);
        tile_.decode(frame, tables_, number, std::span(field).subspan(at, head_.tile_end(number) - at));
        if (parts > 1) draw(frame, number, region, parts > 2);
      }
    }
  }

 private:
  void draw(const jpt::Frame& frame, std::size_t number, const Region& region, bool transform) {
    jpt::Values values{};
    std::size_t offset = 0;
    for (std::size_t c = 0; c < frame.components; ++c) {
      const jpt::TileClass& all = tile_.of(c == 0 ? 0 : 1);
      if (c < 2) {
        values = all.begin;
        offset = 0;
      }
      const jpt::BlockRange part = frame.tile_blocks(number, c), wanted = jpt::needed_blocks(frame, c, region);
      const std::size_t left = std::max(part.x, wanted.x),
                        right = std::min(part.x + part.width, wanted.x + wanted.width);
      for (std::size_t y = part.y; y < part.y + part.height; ++y, offset += part.width) {
        const bool in = y >= wanted.y && y < wanted.y + wanted.height && left < right;
        const std::size_t before = in ? left - part.x : part.width, count = in ? right - left : 0;
        jpt::skip(all.masks.data() + offset, before, all.escaped, values);
        const std::size_t at = offset + before;
        jpt::expand(all.masks.data() + at, all.dc.data() + at, count, steps_, values, blocks_.data());
        if (transform) jpt::idct(blocks_.data(), count, samples_.data(), 1024);
        jpt::skip(all.masks.data() + at + count, part.width - before - count, all.escaped, values);
      }
    }
  }

  jpt::Head head_;
  jpt::TileTables tables_;
  jpt::Tile tile_;
  std::array<std::int16_t, 64> steps_;
  std::vector<std::int16_t> blocks_ =
      std::vector<std::int16_t>((jpt::kMostTileBlocks + jpt::kIdctSlack) * jpt::kBlockSize);
  std::vector<std::uint8_t> samples_ = std::vector<std::uint8_t>(8 * 1024);
};

Split split_of(const std::vector<Bytes>& fields, bool whole) {
  Parts parts;
  auto run = [&](int how_many) {
    std::mt19937 random(7);
    const double begin = now();
    for (const Bytes& field : fields) parts.run(field, whole, random, how_many);
    return (now() - begin) / static_cast<double>(fields.size());
  };
  const double tables = run(0), with_symbols = run(1), with_blocks = run(2), with_samples = run(3);
  return {tables, with_symbols - tables, with_blocks - with_symbols, with_samples - with_blocks};
}

/// Seconds per photograph for the work after decoding: 224 x 224 pixels of it, antialiased, normalized, as float32.
double resample_all(const std::vector<Bytes>& fields, bool whole) {
  const auto decoder = jpt_codec().decoder(kSchema);
  std::mt19937 random(7);
  Bytes pixels, out(std::size_t{3} * 224 * 224 * 4);
  Resampler resampler;
  const PixelSink sink{
      .data = out.data(), .dtype = DType::f32, .scale = {0.017F, 0.017F, 0.017F}, .bias = {-2, -2, -2}};
  double seconds = 0;
  for (const Bytes& value : fields) {
    const FieldBytes field{.schema = &kSchema, .bytes = value};
    const Shape shape = decoder->peek(field).shape;
    const Size size{shape[1], shape[0]};
    const Region region =
        whole ? Region{0, 0, size.width, size.height} : random_resized_crop(shape[1], shape[0], random);
    const Shape part{region.height, region.width, 3};
    pixels.resize(element_count(part));
    decoder->decode(field, &region, {pixels.data(), DType::u8, part});
    const Geometry geometry = Geometry::identity(size).cropped(region).resized({224, 224});
    const double begin = now();
    resampler.run({reinterpret_cast<const std::uint8_t*>(pixels.data()), 3 * region.width, 3, region}, geometry,
                  Interpolation::bilinear, sink);
    seconds += now() - begin;
  }
  return seconds / static_cast<double>(fields.size());
}

struct Times {
  std::vector<double> turbo, jpeg, field, resample;
  std::vector<double> parts[4];
};

void print(const char* what, const Times& times) {
  const double turbo = median(times.turbo), jpeg = median(times.jpeg), field = median(times.field);
  std::printf("  %-6s libjpeg-turbo %7.1f us, JPEG %7.1f us (%.2f times as fast), re-encoded %7.1f us (%.2f times)\n",
              what, 1e6 * turbo, 1e6 * jpeg, turbo / jpeg, 1e6 * field, turbo / field);
  double rest = field;
  for (const auto& part : times.parts) rest -= median(part);
  std::printf(
      "         tables %.1f us, decompress %.1f us, expand %.1f us, inverse DCT %.1f us, upsampling and colour %.1f "
      "us; then to 224 x 224 float32 %.1f us\n",
      1e6 * median(times.parts[0]), 1e6 * median(times.parts[1]), 1e6 * median(times.parts[2]),
      1e6 * median(times.parts[3]), 1e6 * rest, 1e6 * median(times.resample));
}

void compare(const Photographs& photographs, unsigned rounds) {
  Times crops, wholes;
  for (unsigned round = 0; round < rounds; ++round) {
    for (const bool whole : {false, true}) {
      Times& times = whole ? wholes : crops;
      times.turbo.push_back(libjpeg_turbo_all(photographs.files, whole));
      times.jpeg.push_back(decode_all(jpeg_codec(), photographs.files, whole));
      times.field.push_back(decode_all(jpt_codec(), photographs.fields, whole));
      const Split split = split_of(photographs.fields, whole);
      times.parts[0].push_back(split.tables);
      times.parts[1].push_back(split.symbols);
      times.parts[2].push_back(split.blocks);
      times.parts[3].push_back(split.samples);
      times.resample.push_back(resample_all(photographs.fields, whole));
    }
  }
  print("crop", crops);
  print("whole", wholes);
}

#ifdef PENSTOCK_ZSTD
/// Compresses the symbols of each tile separately by zstd. Prints the bytes and the decompression time.
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
