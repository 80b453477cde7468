#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unordered_map>

#include <base/numbers/decimal.hpp>
#include <base/printable.hpp>
#include <formats/absent_fields.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/io/hash.hpp>
#include <formats/labels/emptiness.hpp>
#include <order/buckets/length_table.hpp>
#include <order/selection.hpp>
#include <order/serving_field.hpp>
#include <order/windows/windows.hpp>
#include <penstock/error.hpp>
#include <penstock/mixture.hpp>
#include <penstock/order.hpp>
#include <transforms/output.hpp>

namespace penstock {
namespace {

bool always_served(const Dataset& dataset, const Output& output) {
  if (output.window != 0) return true;  // served by other samples than the row's own; the window's table knows which
  if (output.goes_without_field()) return true;
  return std::any_of(output.sources.begin(), output.sources.end(),
                     [&](std::uint32_t field) { return dataset.complete(field); });
}

void require_inside(const Dataset& dataset, std::span<const std::uint64_t> subset) {
  const ErrorContext here{.dataset = dataset.path().string()};
  if (subset.empty())
    throw Error::invalid_argument("subset is empty, so an epoch would have no samples; omit it to use all samples",
                                  here);
  for (const std::uint64_t sample : subset) {
    if (sample < dataset.size()) continue;
    throw Error::invalid_argument("subset contains sample " + std::to_string(sample) + ", but the dataset has " +
                                      std::to_string(dataset.size()) + " samples",
                                  here);
  }
}

bool is_all_in_order(const std::vector<std::uint64_t>& list, std::uint64_t samples) {
  if (list.size() != samples) return false;
  for (std::uint64_t i = 0; i < samples; ++i)
    if (list[i] != i) return false;
  return true;
}

// Empty if no sample is repeated.
std::vector<std::uint32_t> occurrences_in(const std::vector<std::uint64_t>& list, std::uint64_t samples) {
  std::vector<bool> met(samples, false);
  std::size_t first_again = 0;
  while (first_again < list.size() && !met[list[first_again]]) met[list[first_again++]] = true;
  if (first_again == list.size()) return {};
  std::vector<std::uint32_t> occurrences(list.size(), 0);
  std::unordered_map<std::uint64_t, std::uint32_t> repeats;  // counts of samples that came before
  for (std::size_t i = first_again; i < list.size(); ++i) {
    if (met[list[i]]) occurrences[i] = ++repeats[list[i]];
    met[list[i]] = true;
  }
  return occurrences;
}

Selection selection_of(std::vector<std::uint64_t> list, std::uint64_t samples) {
  Selection selection{.listed = list.size(), .samples = list.size()};
  if (is_all_in_order(list, samples)) return selection;
  selection.occurrences = occurrences_in(list, samples);
  for (const std::uint32_t before : selection.occurrences) selection.repeats = std::max(selection.repeats, before + 1);
  selection.included = std::move(list);
  return selection;
}

// Average bytes per sample of compressed blocks: used by the sample, and decompressed for it.
struct BlockUse {
  double used = 0, undone = 0;  // bytes per sample
};

BlockUse block_use(const Dataset& dataset, const Program& program, const Selection& selection) {
  constexpr std::uint64_t kProbes = 16;
  const std::uint64_t probes = std::min(kProbes, selection.listed);
  BlockUse use;
  std::vector<std::uint32_t> fields;
  std::vector<Piece> pieces;
  for (std::uint64_t i = 0; i < probes; ++i) {
    const std::uint64_t sample = selection.sample(i * (selection.listed / probes));
    fields.clear();
    for (const Output& output : program.outputs()) {
      const auto field = serving_field(dataset, output, sample, pieces);
      if (!field || std::ranges::find(fields, *field) != fields.end()) continue;
      fields.push_back(*field);
      for (const Piece& piece : pieces) {
        if (piece.kind != Piece::Kind::block) continue;
        use.used += static_cast<double>(piece.length) / static_cast<double>(probes);
        use.undone += static_cast<double>(dataset.block(piece.block).decoded_length) / static_cast<double>(probes);
      }
    }
  }
  return use;
}

// Whether the name is only an extension, as for a field of photographs: "png", not "seg.png".
bool holds_photographs(const FieldSchema& schema) {
  const Encoding* encoding = encoding_with_extension(schema.name);
  return encoding != nullptr && encoding->kind == ValueKind::image && !encoding->codec.empty();
}

// Explains the case that a dataset has images of several kinds, and each sample has one of them.
std::string other_image(const Dataset& dataset, const Output& lacking, std::uint64_t sample) {
  const auto fields = dataset.fields();
  std::string names;
  for (const std::uint32_t source : lacking.sources) {
    if (!holds_photographs(fields[source])) return {};
    names += fields[source].name + "|";
  }
  std::vector<Piece> pieces;
  for (std::uint32_t other = 0; other < fields.size(); ++other) {
    if (!holds_photographs(fields[other]) || !dataset.locate(sample, other, pieces)) continue;
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      // then one of them is a mask, not an alternative
      if (dataset.locate(i, other, pieces) && serving_field(dataset, lacking, i, pieces)) return {};
    }
    return "; it has \"" + fields[other].name + "\"; use field(\"" + names + fields[other].name + "\") to read either";
  }
  return {};
}

std::string why_sample_lacks(const Dataset& dataset, const Output& lacking, std::uint64_t sample) {
  std::string why;
  for (const std::uint32_t source : lacking.sources)
    why += and_why_no_field(dataset, dataset.fields()[source].name, dataset.shard_of(sample));
  return why;
}

// For outputs whose fields no sample has together: a sample that has the fields of each.
std::string whose_fields(const Dataset& dataset, const std::vector<const Output*>& outputs) {
  constexpr std::size_t kNamed = 4;
  std::string text;
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < std::min(outputs.size(), kNamed); ++i) {
    std::uint64_t sample = 0;
    while (sample < dataset.size() && !serving_field(dataset, *outputs[i], sample, pieces)) ++sample;
    if (sample == dataset.size()) continue;
    text += (text.empty() ? "" : ", ") + outputs[i]->name + " is a field of \"" + one_line(dataset.key(sample)) + "\"";
  }
  return text.empty() ? text : ": " + text + "; fields of the same sample must have the same key";
}

// For an output whose samples without the field raise.
std::string remedy(const Output& lacking) {
  std::string text = "missing=\"exclude\" leaves such samples out";
  if (!lacking.unfilled.empty()) return text + "; " + lacking.unfilled;
  if (lacking.may_be_missing) return text + ", and \"empty\" gives them rows without items";
  return lacking.ragged ? text
                        : text + ", and missing={" + double_quoted(lacking.name) + ": 0} fills their rows with zeros";
}

std::string megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f MB", std::ceil(bytes / 1e6));
  return text;
}

}  // namespace

Selection::Range Selection::like(std::uint64_t number) const {
  if (mixed == nullptr) return {0, listed};
  const MixedSource& source = mixed->sources[mixed->source_of(number)];
  return {source.first, source.samples};
}

std::optional<std::uint64_t> Selection::fingerprint() const {
  if (included.empty() || mixed != nullptr) return std::nullopt;  // in a mixture each source has its own
  std::uint64_t hash = kFnvOffset;
  for (const std::uint64_t sample : included) hash = mix64(hash ^ sample) + kFnvOffset;
  return hash;
}

namespace {

// Reports a missing field once, for the source, instead of for the first affected sample.
void require_fields(const Dataset& dataset, const Mixture& mixture, const Program& program) {
  for (const Output& output : program.outputs()) {
    if (output.goes_without_field()) continue;
    for (const MixtureSource& source : mixture.sources()) {
      const bool served = std::ranges::any_of(output.sources, [&](std::uint32_t field) {
        return source.dataset.field(dataset.fields()[field].name).has_value();
      });
      if (served || mixture.never_comes(source)) continue;
      std::string has = joined_text(source.dataset.fields(), ", ", &FieldSchema::name);
      for (const std::uint32_t field : output.sources)
        has += and_why_no_field(source.dataset, dataset.fields()[field].name);
      throw Error::invalid_argument("source " + double_quoted(source.name) +
                                        " of the mixture has no field for output '" + output.name + "': it has " + has,
                                    {.dataset = source.dataset.path().string()});
    }
  }
}

// The first window of the loader that has no row for the sample; null if all have one.
const WindowTable* window_without(const OrderOptions& options, std::uint64_t sample) {
  if (options.windows == nullptr) return nullptr;
  for (const auto& table : options.windows->tables) {
    if (!table->serves(sample)) return table.get();
  }
  return nullptr;
}

bool have_rows_for_all(const Windows& windows) {
  return std::ranges::all_of(windows.tables, [](const auto& table) { return table->serves_all(); });
}

// For a table in which no sample has a row.
std::string why_no_window(const WindowTable& table) {
  const auto [first, last] = std::ranges::minmax_element(table.spec().offsets);
  if (table.longest() == 0) return "no sample has the fields of a window's steps";
  char offsets[96];
  std::snprintf(offsets, sizeof offsets, "%g to %g", *first, *last);
  return std::string("no sample has a whole window: its offsets reach from ") + offsets + ", and the longest of " +
         std::to_string(table.groups()) + " groups has " + std::to_string(table.longest()) +
         (table.longest() == 1 ? " step" : " steps") + "; edge=\"pad\" repeats the nearest step";
}

Selection listed_samples(const Dataset& dataset, const Program& program, const OrderOptions& options) {
  const ErrorContext here{.dataset = dataset.path().string()};
  if (dataset.size() == 0) throw Error::invalid_argument("nothing to load: " + emptiness(dataset), here);
  if (options.subset) require_inside(dataset, *options.subset);
  std::vector<const Output*> doubtful;
  for (const Output& output : program.outputs()) {
    if (!always_served(dataset, output)) doubtful.push_back(&output);
  }
  if (doubtful.empty() && (options.windows == nullptr || have_rows_for_all(*options.windows)))
    return options.subset ? selection_of({options.subset->begin(), options.subset->end()}, dataset.size())
                          : Selection{.listed = dataset.size(), .samples = dataset.size()};

  const std::uint64_t candidates = options.subset ? options.subset->size() : dataset.size();
  std::vector<std::uint64_t> included;
  std::vector<Piece> pieces;
  const WindowTable* without = nullptr;
  for (std::uint64_t i = 0; i < candidates; ++i) {
    const std::uint64_t sample = options.subset ? (*options.subset)[i] : i;
    bool excluded = false;
    const Output* lacking = nullptr;  // the first one that raises
    for (const Output* output : doubtful) {
      if (serving_field(dataset, *output, sample, pieces)) continue;
      if (output->missing == Missing::exclude)
        excluded = true;
      else if (lacking == nullptr)
        lacking = output;
    }
    if (excluded) continue;
    if (lacking == nullptr) {
      if (const WindowTable* window = window_without(options, sample)) {
        without = window;
        continue;
      }
      included.push_back(sample);
    } else {
      throw Error::invalid_argument("the sample has no field for output '" + lacking->name + "'; " + remedy(*lacking) +
                                        other_image(dataset, *lacking, sample) +
                                        why_sample_lacks(dataset, *lacking, sample),
                                    {.dataset = here.dataset, .key = std::string(dataset.key(sample))});
    }
  }
  if (included.empty() && without != nullptr) throw Error::invalid_argument(why_no_window(*without), here);
  if (included.empty())
    throw Error::invalid_argument("no sample has all requested fields" + whose_fields(dataset, doubtful), here);
  Selection selection = selection_of(std::move(included), dataset.size());
  selection.excluded = candidates - selection.samples;
  return selection;
}

std::shared_ptr<const DrawOrder> draws_among(const Dataset& dataset, const Selection& selection, const Draws& draws) {
  try {
    if (draws.numbers == nullptr)
      throw Error::invalid_argument(
          draws.about +
          ": the numbers are missing, because a loader releases them, so its options() have none; pass them again");
    if (draws.numbers->size() != dataset.size())
      throw Error::invalid_argument(draws.about + ": " + std::to_string(draws.numbers->size()) + " numbers for " +
                                    std::to_string(dataset.size()) + " samples");
    return std::make_shared<const DrawOrder>(
        draws, DrawOrder::Listed{.count = selection.listed,
                                 .sample = [&](std::uint64_t entry) { return selection.sample(entry); },
                                 .key = [&](std::uint64_t sample) { return std::string(dataset.key(sample)); }});
  } catch (const Error& error) {
    throw error.in({.dataset = dataset.path().string()});
  }
}

// Each sample in the list must have a length, and fit the budget.
std::shared_ptr<const BucketedOrder> bucketed_order(const Dataset& dataset, const OrderOptions& options,
                                                    const Selection& selection) {
  const LengthBuckets& buckets = *options.buckets;
  const ErrorContext here{.dataset = dataset.path().string()};
  if (buckets.lengths == nullptr || buckets.lengths->size() != dataset.size())
    throw Error::invalid_argument("by_length() requires one length for each sample of the dataset: there are " +
                                      std::to_string(buckets.lengths != nullptr ? buckets.lengths->size() : 0) +
                                      " lengths and " + std::to_string(dataset.size()) + " samples",
                                  here);
  if (!buckets.lengths->finished())
    throw Error::invalid_argument("by_length() requires a finished table of lengths: call LengthTable::finish()", here);
  std::shared_ptr<const LengthTable> lengths = buckets.lengths;
  if (!selection.included.empty()) lengths = std::make_shared<const LengthTable>(*lengths, selection.included);
  for (std::uint64_t number = 0; number < selection.listed; ++number) {
    if (lengths->has(number) && (buckets.budget == 0 || (*lengths)[number] <= buckets.budget)) continue;
    const ErrorContext where{.dataset = here.dataset, .key = std::string(dataset.key(selection.sample(number)))};
    if (!lengths->has(number))
      throw Error::invalid_argument("the sample has no value that by_length(" + double_quoted(buckets.by) + ")" +
                                        " can measure; leave out such samples with filter(has=...)",
                                    where);
    throw Error::invalid_argument("the sample's length, " + shortest_decimal((*lengths)[number]) +
                                      ", is more than budget=" + shortest_decimal(buckets.budget),
                                  where);
  }
  return std::make_shared<const BucketedOrder>(buckets.by, std::move(lengths), buckets.window, buckets.budget);
}

}  // namespace

Selection select_samples(const Dataset& dataset, const Program& program, const OrderOptions& options) {
  if (options.mixture != nullptr && options.subset)
    throw Error::invalid_argument("subset cannot be combined with a mixture; pass the mixture views of its datasets",
                                  {.dataset = dataset.path().string()});
  if (options.mixture != nullptr && options.draws != nullptr)
    throw Error::invalid_argument(
        options.draws->about + " cannot be combined with a mixture, which has a weight for each source",
        {.dataset = dataset.path().string()});
  if (options.mixture != nullptr) require_fields(dataset, *options.mixture, program);
  Selection selection = listed_samples(dataset, program, options);
  if (options.draws != nullptr) {
    selection.draws = draws_among(dataset, selection, *options.draws);
    selection.samples = selection.draws->length();
  }
  if (options.buckets != nullptr) selection.bucketed = bucketed_order(dataset, options, selection);
  if (options.mixture == nullptr) return selection;
  selection.mixed = options.mixture->order_of(selection.included);
  selection.samples = selection.mixed->length;
  return selection;
}

PlanOptions plan_options(const OrderOptions& options, const Selection& selection) {
  return {.samples = selection.samples,
          .shuffle = options.shuffle,
          .shuffle_block = options.shuffle_block.value_or(0),
          .shuffle_window = options.shuffle_window,
          .seed = options.seed,
          .batch_size = options.batch_size,
          .rank = options.rank,
          .world = options.world,
          .last = options.last,
          .mixed = selection.mixed,
          .draws = selection.draws,
          .bucketed = selection.bucketed};
}

std::string cost_of_shuffle(const Dataset& dataset, const Program& program, const OrderOptions& options,
                            std::uint64_t block_cache_bytes, const Selection& selection) {
  constexpr double kWorthAWord = 2;
  if (!options.shuffle || options.shuffle_block.value_or(0) != 0 || dataset.block_count() == 0) return {};
  BlockUse use;
  try {
    use = block_use(dataset, program, selection);
  } catch (const Error&) {
    return {};  // delivering the sample will report the error
  }
  if (use.used <= 0) return {};
  const double all = use.used * static_cast<double>(selection.samples);
  const double share_kept = std::min(1.0, static_cast<double>(block_cache_bytes) / all);
  const double times = use.undone / use.used * (1 - share_kept);
  if (times < kWorthAWord) return {};
  const std::string block = std::to_string(std::llround(use.undone / use.used));
  return "a full shuffle decompresses each compressed block of the dataset about " +
         std::to_string(std::llround(times)) + " times per epoch, because about " + block +
         " samples share a block; shuffle=ps.shuffle.blocks(" + block +
         ") decompresses each once, and block_cache_bytes of " + megabytes(all) + " keeps all of them";
}

std::uint64_t block_of_version_1(const Dataset& dataset) {
  if (dataset.block_count() == 0 || dataset.block_count() >= dataset.size()) return 0;
  return std::max<std::uint64_t>(1, dataset.size() * dataset.fields().size() / dataset.block_count());
}

}  // namespace penstock
