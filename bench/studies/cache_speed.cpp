// Compares later epochs from the cache of decoded images with memcpy of the same rows in an equally random order.
//
//   penstock_cache_speed DATASET [FIELD] [--workers 2] [--rounds 5] [--seconds 1] [--batch-size 64]
//
// FIELD holds images of one size; labels are included if there are any. The plain loop has all rows in one block of
// memory. The loop has no index, keys, queue or order, and copies row after row into as many slabs of the same size as
// the loader has.
#include <cstring>
#include <utility>

#include <base/memory.hpp>
#include <order/permutation/permutation.hpp>

#include "beside_loops.hpp"

namespace {

using namespace penstock;
using namespace penstock::beside;

Loader make_loader(const Dataset& dataset, const Options& options, const Chain& chain) {
  LoaderOptions chosen{.batch_size = options.batch_size, .shuffle = true, .seed = 1, .workers = options.workers};
  chosen.transforms = {{"image", field(options.field) | chain}};
  if (dataset.field("cls")) chosen.transforms.emplace_back("cls", label());
  chosen.last_batch = Last::drop;
  chosen.cache.kind = CacheKind::decoded;
  chosen.cache.limit = std::uint64_t{4} << 30;
  return Loader(dataset, chosen);
}

std::string image_field(const Dataset& dataset) {
  for (const char* name : {"png", "jpg", "webp"}) {
    if (dataset.field(name)) return name;
  }
  throw Error::invalid_argument("name the FIELD of the images", {.dataset = dataset.path().string()});
}

/// `count` copies of a batch's first image, one after another.
Memory copies_of(const Batch& batch, std::uint64_t count) {
  const auto& images = batch["image"].values;
  const std::size_t row_bytes = images.bytes() / batch.size();
  Memory rows(count * row_bytes);
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(rows.data() + i * row_bytes, images.data, row_bytes);
  return rows;
}

void run(Options options) {
  const Dataset dataset = penstock::open(options.dataset);
  if (options.field.empty()) options.field = image_field(dataset);
  const std::vector<std::pair<const char*, Chain>> chains{
      {"penstock: uint8 (H, W, C)", image::decode() | image::channels_last()},
      {"penstock: uint8 (C, H, W)", image::decode()},
      {"penstock: flipped, uint8 (C, H, W)", image::random_horizontal_flip() | image::cast(DType::u8)},
      {"penstock: flipped, normalized float32",
       image::random_horizontal_flip() | image::normalize({0.5F, 0.5F, 0.5F}, {1, 1, 1})}};
  Line plain{"plain: memcpy"};
  std::vector<Line> lines;
  std::vector<Loader> loaders;
  for (const auto& [name, chain] : chains) {
    lines.push_back({name});
    loaders.push_back(make_loader(dataset, options, chain));
    while (loaders.back().next()) continue;  // the first epoch fills the cache
  }
  const Memory rows = copies_of(*loaders[0].next(), dataset.size());
  const std::size_t row_bytes = rows.size() / dataset.size(), slabs = loaders[0].stats().slabs;
  const Memory slab_memory(row_bytes * options.batch_size * slabs);
  std::vector<std::uint64_t> order(dataset.size());
  Permutation(dataset.size(), 1, 0).list(0, order);
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      lines[i].rates.push_back(run_loader(loaders[i], options));
      const double copied = run_loop(options, slab_memory, slabs, row_bytes, [&](std::uint64_t turn, std::byte* row) {
        std::memcpy(row, rows.data() + order[turn % order.size()] * row_bytes, row_bytes);
      });
      plain.rates.push_back(copied);
      lines[i].ratios.push_back(lines[i].rates.back() / copied);
    }
  }
  print_heading();
  print(plain);
  for (const Line& line : lines) print(line);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("penstock_cache_speed", {argv, static_cast<std::size_t>(argc)}, run);
}
