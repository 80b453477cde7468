#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/dataset.hpp>
#include <formats/index/index.hpp>
#include <formats/io/hash.hpp>
#include <formats/lists/sample_list.hpp>
#include <order/tokens/best_fit.hpp>
#include <order/tokens/block_samples.hpp>
#include <order/tokens/blocks_of_tokens.hpp>
#include <order/tokens/token_layout.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLongestBlockOfTokens = std::numeric_limits<std::int32_t>::max();  // positions are int32
constexpr std::uint64_t kWidestWindow = std::uint64_t{1} << 31;

[[noreturn]] void refuse_blocks(const Dataset& dataset, const TokenOptions& options, std::string why,
                                std::string key = {}) {
  throw Error::invalid_argument(std::move(why),
                                {.dataset = dataset.path().string(), .key = std::move(key), .field = options.field});
}

void check_token_options(const Dataset& dataset, std::uint64_t length, const TokenOptions& options) {
  const bool cut = options.packing == TokenPacking::cut;
  if (length == 0) refuse_blocks(dataset, options, "the length of blocks of tokens must be at least 1");
  if (length > kLongestBlockOfTokens)
    refuse_blocks(dataset, options,
                  "the length of blocks of tokens must be at most " + with_commas(kLongestBlockOfTokens));
  if (!cut && length > kLongestBin)
    refuse_blocks(dataset, options, "best_fit packs blocks of at most " + with_commas(kLongestBin) + " tokens");
  if (options.window == 0 || options.window > kWidestWindow)
    refuse_blocks(dataset, options, "window must be between 1 and " + with_commas(kWidestWindow) + " documents");
  if (cut && options.whole)
    refuse_blocks(dataset, options, "documents=\"whole\" requires packing \"best_fit\"; \"cut\" cuts documents");
  if (cut && options.window != TokenOptions{}.window)
    refuse_blocks(dataset, options,
                  "window requires packing \"best_fit\"; \"cut\" joins all documents before it cuts them");
  if (cut && !options.pad_last && options.pad != 0)
    refuse_blocks(dataset, options, "pad with packing \"cut\" requires last=\"pad\": otherwise all blocks are full");
  if (!cut && options.pad_last)
    refuse_blocks(dataset, options, "last requires packing \"cut\"; \"best_fit\" pads every block that is not full");
  for (const auto& [wanted, name] : {std::pair{options.positions, "positions"},
                                     {options.segment_ids, "segment_ids"},
                                     {options.cu_lengths, "cu_lengths"}}) {
    if (wanted && options.field == name)
      refuse_blocks(dataset, options,
                    "the field of tokens and an added field are both called \"" + options.field + "\"");
  }
}

// Rejects documents that do not fit into a block, if they must stay whole.
void require_short(const TokenDocuments& documents, std::uint64_t length, const TokenOptions& options) {
  std::uint64_t longer = 0, first = 0;
  for (std::uint64_t position = 0; position < documents.size(); ++position) {
    if (documents.tokens(position) > length && longer++ == 0) first = position;
  }
  if (longer == 0) return;
  const Dataset& dataset = documents.dataset();
  const std::uint64_t most = (length - (options.end ? 1 : 0)) * size_of(documents.dtype()) + documents.least_header();
  refuse_blocks(dataset, options,
                "the document has " + with_commas(documents.tokens(first)) + " tokens, more than a block of " +
                    with_commas(length) + ", and documents=\"whole\" does not cut documents (" + with_commas(longer) +
                    " are too long); leave them out with filter(lengths={\"" + one_line(options.field) + "\": (None, " +
                    std::to_string(most) + ")})",
                std::string(dataset.key(documents.sample(first))));
}

// Identifies everything that determines the blocks.
std::uint64_t mark_of(const TokenDocuments& documents, std::uint64_t length, const TokenOptions& options) {
  std::uint64_t mark = mix64(documents.mark());
  const auto add = [&](std::uint64_t number) { mark = mix64(mark ^ number) + 1; };
  add(fnv1a(options.field));
  add(static_cast<std::uint64_t>(documents.dtype()));
  add(documents.tokens());
  add(length);
  add(static_cast<std::uint64_t>(options.packing));
  add(options.end ? mix64(static_cast<std::uint64_t>(*options.end) + 1) : 0);
  add(static_cast<std::uint64_t>(options.pad));
  add(options.pad_last ? 1 : 0);
  add(options.packing == TokenPacking::best_fit ? options.window : 0);
  add(options.shuffle ? mix64(*options.shuffle + 1) : 0);
  return mark;
}

std::unique_ptr<const TokenLayout> layout_of(const TokenDocuments& documents, std::uint64_t length,
                                             const TokenOptions& options, std::uint64_t mark,
                                             const std::function<void()>& tick) {
  if (options.packing == TokenPacking::best_fit)
    return std::make_unique<BestFitBlocks>(documents, length, options.window, mark, tick);
  return std::make_unique<CutBlocks>(documents, length, options.pad_last, mark, tick);
}

// The dataset's shards without their fields, followed by a shard of the blocks.
Dataset view_of_blocks(const Dataset& documents, std::shared_ptr<const MadeSamples> blocks, std::string about) {
  std::vector<Dataset::Shard> shards;
  for (std::size_t number = 0; number < documents.shard_count(); ++number) {
    Dataset::Shard shard = documents.shard(number);
    shard.dataset = documents.path_of_shard(number);
    shard.fields.assign(shard.index.fields().size(), "");
    shards.push_back(std::move(shard));
  }
  const std::uint64_t count = blocks->size();
  shards.push_back({.index = Index::of(std::move(blocks)),
                    .root = {},
                    .name = {},
                    .dataset = documents.path(),
                    .borrowed = documents.shard_count()});
  const Dataset all(documents.path(), std::string(documents.format()), std::move(shards), {}, false);
  return Dataset(all, {.samples = SampleList::range(all.first_sample(documents.shard_count()), count),
                       .about = std::move(about),
                       .among = count});
}

}  // namespace

Dataset blocks_of_tokens(const Dataset& dataset, std::uint64_t length, const TokenOptions& options,
                         const ReadTokenBegins& read, const std::function<void()>& tick) {
  check_token_options(dataset, length, options);
  auto documents = std::make_unique<const TokenDocuments>(dataset, options, read, tick);
  if (options.whole) require_short(*documents, length, options);
  const std::uint64_t mark = mark_of(*documents, length, options);
  auto layout = layout_of(*documents, length, options, mark, tick);
  if (layout->blocks() == 0) {
    refuse_blocks(dataset, options,
                  "a block of " + with_commas(length) + " tokens is longer than the " +
                      with_commas(documents->tokens()) + " tokens of the dataset; last=\"pad\" makes one padded block");
  }
  const bool cut = options.packing == TokenPacking::cut;
  const std::string about = "blocks of " + with_commas(length) + " tokens, " + (cut ? "cut from " : "best fit of ") +
                            with_commas(dataset.size()) + " documents";
  auto blocks = std::make_shared<BlockSamples>(std::move(documents), std::move(layout), length, options, mark);
  return view_of_blocks(dataset, std::move(blocks), about);
}

}  // namespace penstock
