#include <algorithm>
#include <utility>

#include <base/numbers/decimal.hpp>
#include <base/printable.hpp>
#include <order/cursor.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

std::string yes_or_no(bool yes) {
  return yes ? "true" : "false";
}

std::string listed(const std::optional<std::uint64_t>& subset) {
  return subset ? "a subset of the samples" : "all samples in their order";
}

std::string block_text(std::uint64_t block) {
  return block == 0 ? "none" : "shuffle_block=" + std::to_string(block);
}

std::string window_text(std::uint64_t window) {
  return window == 0 ? "no shuffle_window" : "shuffle_window=" + std::to_string(window);
}

std::string draws_text(const std::optional<SavedDraws>& draws) {
  if (!draws) return "each sample once an epoch";
  switch (draws->kind) {
    case Draws::Kind::weighted:
      return "samples drawn by weights";
    case Draws::Kind::once:
      return "samples drawn by weights without replacement";
    case Draws::Kind::repeated:
      return "repeats of samples";
    case Draws::Kind::balanced:
      break;
  }
  return "balanced classes";
}

void require_same(const SavedOrder& saved, const SavedOrder& own) {
  const auto require = [](bool same, const std::string& theirs, const std::string& ours) {
    if (!same) throw Error::invalid_argument("the state was saved with " + theirs + ", this loader has " + ours);
  };
  require(saved.shuffle == own.shuffle, "shuffle=" + yes_or_no(saved.shuffle), "shuffle=" + yes_or_no(own.shuffle));
  require(saved.shuffle_block == own.shuffle_block,
          saved.shuffle_block == 0 ? "no shuffle_block" : block_text(saved.shuffle_block),
          block_text(own.shuffle_block));
  require(saved.shuffle_window == own.shuffle_window, window_text(saved.shuffle_window),
          window_text(own.shuffle_window));
  require(saved.draws.has_value() == own.draws.has_value() && (!own.draws || saved.draws->kind == own.draws->kind),
          draws_text(saved.draws), draws_text(own.draws));
  require(saved.draws == own.draws, draws_text(saved.draws) + " from other numbers", "its own numbers");
  require(saved.last == own.last, "last_batch=" + std::string(name(saved.last)),
          "last_batch=" + std::string(name(own.last)));
  require(saved.subset.has_value() == own.subset.has_value(), listed(saved.subset), listed(own.subset));
  require(saved.subset == own.subset, "another subset of the samples", "its own subset");
}

std::string told_of(const BatchLimits& limits) {
  return std::to_string(limits.world) + (limits.world == 1 ? " rank" : " ranks") +
         " with batch_size=" + std::to_string(limits.batch_size) +
         (limits.budget != 0 ? " and budget=" + shortest_decimal(limits.budget) : " and no budget");
}

std::string by_text(const std::string& by) {
  return by.empty() ? "the program's own lengths" : "by_length(" + double_quoted(by) + ")";
}

// The windows in a text of transforms, "clip = window(...)", and the text without them.
struct ToldWindows {
  std::string windows, rest;
};

ToldWindows windows_among(std::string_view transforms) {
  constexpr std::string_view kBegin = " = window(";
  ToldWindows told;
  while (true) {
    const std::size_t begin = transforms.find(kBegin);
    if (begin == std::string_view::npos) break;
    const std::size_t before = transforms.rfind("; ", begin);
    const std::size_t output = before == std::string_view::npos ? 0 : before + 2;
    std::size_t end = begin + kBegin.size();
    for (bool quoted = false; end < transforms.size() && (quoted || transforms[end] != ')'); ++end) {
      if (transforms[end] == '\\' && quoted) {
        ++end;
      } else if (transforms[end] == '"') {
        quoted = !quoted;
      }
    }
    end = std::min(end + 1, transforms.size());
    told.windows += (told.windows.empty() ? "" : ", ") + std::string(transforms.substr(output, end - output));
    told.rest += transforms.substr(0, begin);
    transforms.remove_prefix(end);
  }
  told.rest += transforms;
  return told;
}

std::string windows_text(const std::string& windows) {
  return windows.empty() ? "no windows" : windows;
}

// Windows with edge="drop" decide which samples have a row, and so the order.
void require_rows_of(const LoaderState& state, std::string_view transforms, bool same_rows) {
  if (same_rows) return;
  const std::string saved = windows_among(state.transforms).windows, own = windows_among(transforms).windows;
  const auto leaves_out = [](const std::string& windows) { return windows.find("edge=\"drop\"") != std::string::npos; };
  if (saved == own || !(leaves_out(saved) || leaves_out(own))) return;
  throw Error::invalid_argument("the state was saved with " + windows_text(saved) + ", this loader has " +
                                windows_text(own) + ": other samples have rows, so the order differs");
}

}  // namespace

Cursor::Cursor(const PlanOptions& plan, std::optional<std::uint64_t> subset, std::uint64_t block_of_version_1)
    : options_(plan),
      subset_(subset),
      block_of_version_1_(plan.shuffle ? block_of_version_1 : 0),
      position_{.seed = plan.seed, .shuffle_block = plan.shuffle_block},
      plan_(options_, 0) {}

void Cursor::go_to(const Position& position) {
  plan_ = position.plan(options_);
  position_ = position;
  saved_ = position.batch;
}

SavedOrder Cursor::order() const {
  return {.shuffle = options_.shuffle,
          .shuffle_block = options_.shuffle ? options_.shuffle_block : 0,
          .shuffle_window = options_.shuffle ? options_.shuffle_window : 0,
          .subset = subset_,
          .last = options_.last,
          .draws = options_.draws != nullptr ? std::optional(options_.draws->saved()) : std::nullopt};
}

LoaderState Cursor::save(std::uint64_t fingerprint, std::string transforms) const {
  SavedOrder saved = order();
  saved.block_of_version_1 = options_.shuffle && position_.shuffle_block != options_.shuffle_block;
  if (saved.block_of_version_1) saved.shuffle_block = position_.shuffle_block;
  std::optional<SavedMixture> mixed;
  if (options_.mixed != nullptr) mixed = mixture();
  return {.dataset = fingerprint,
          .samples = options_.samples,
          .seed = position_.seed,
          .epoch = position_.epoch,
          .start = position_.start,
          .batch = saved_,
          .world = options_.world,
          .batch_size = options_.batch_size,
          .transforms = std::move(transforms),
          .order = saved,
          .mixture = std::move(mixed),
          .buckets = options_.bucketed != nullptr ? std::optional(buckets()) : std::nullopt};
}

std::uint64_t Cursor::batches_per_epoch() const {
  if (options_.bucketed == nullptr || options_.bucketed->budget() == 0) return Plan(options_, 0).batches();
  return position_.first_of(position_.epoch).plan(options_).batches();
}

SavedBuckets Cursor::buckets() const {
  const BatchLimits own{
      .batch_size = options_.batch_size, .world = options_.world, .budget = options_.bucketed->budget()};
  return {.by = options_.bucketed->by(),
          .lengths = options_.bucketed->fingerprint(),
          .window = options_.bucketed->window(),
          .limits = position_.composed.batch_size != 0 ? position_.composed : own};
}

void Cursor::require_same_buckets(const LoaderState& state) const {
  if (!state.buckets && options_.bucketed == nullptr) return;
  const auto refuse = [](const std::string& theirs, const std::string& ours) {
    throw Error::invalid_argument("the state was saved with " + theirs + ", this loader has " + ours);
  };
  if (!state.buckets) refuse("no batching by length", by_text(options_.bucketed->by()));
  if (options_.bucketed == nullptr) refuse(by_text(state.buckets->by), "no batching by length");
  if (state.buckets->lengths != options_.bucketed->fingerprint())
    refuse("other lengths, " + by_text(state.buckets->by), by_text(options_.bucketed->by()));
  if (state.buckets->window != options_.bucketed->window())
    refuse("pool=" + std::to_string(state.buckets->window), "pool=" + std::to_string(options_.bucketed->window()));
}

// In the middle of an epoch, its batches stay those that were composed when it began.
void Cursor::go_on(const LoaderState& state, Position& position) const {
  PlanOptions then = options_;
  then.world = state.world;
  then.batch_size = state.batch_size;
  then.rank = 0;
  BatchLimits own{.batch_size = options_.batch_size, .world = options_.world};
  const BatchLimits saved = state.buckets ? state.buckets->limits : BatchLimits{};
  if (options_.bucketed != nullptr) {
    own.budget = options_.bucketed->budget();
    position.composed = saved;
  }
  const Plan plan = position.plan(then);
  if (state.batch > 0 && !plan.has(state.batch - 1))
    throw Error::invalid_argument("the state was saved after batch " + std::to_string(state.batch) + " of epoch " +
                                  std::to_string(state.epoch) + ", but the epoch has " +
                                  std::to_string(plan.batches()) + " batches");
  const std::uint64_t reached = plan.position_after(state.batch);
  const bool at_end = reached == 0 || reached == options_.samples;
  const bool same = options_.bucketed == nullptr || saved.same_batches(own);
  if (same || at_end) position.composed = {};
  if (same && state.world == options_.world && state.batch_size == options_.batch_size) return;
  if ((saved.budget != 0 || own.budget != 0) && !at_end) {
    if (!saved.same_in_all(own))
      throw Error::invalid_argument("the state was saved in the middle of an epoch whose batches were composed for " +
                                    told_of(saved) + ", this loader has " + told_of(own) +
                                    "; to resume, keep batch_size times the ranks and budget times the ranks");
    return;  // the same batches, divided among other ranks
  }
  position.start = reached;
  position.batch = 0;
}

SavedMixture Cursor::mixture() const {
  const Carried* carried = position_.carried.get();
  SavedMixture saved{.sampling = options_.mixed->sampling,
                     .schedule = options_.mixed->schedule_fingerprint(),
                     .since = carried != nullptr ? carried->epoch : 0};
  const std::vector<std::uint64_t> taken = plan_.taken_before(plan_.position_after(saved_));
  for (std::size_t s = 0; s < taken.size(); ++s) {
    const MixedSource& source = options_.mixed->sources[s];
    saved.sources.push_back({.name = source.name,
                             .dataset = source.fingerprint(),
                             .samples = source.samples,
                             .weight = source.weight,
                             .before = carried != nullptr ? carried->taken[s] : 0,
                             .taken = taken[s]});
  }
  return saved;
}

void Cursor::note_differences(const LoaderState& state, std::string_view transforms,
                              std::vector<std::string>& notes) const {
  if (state.seed != options_.seed) {
    notes.push_back("keeps its own seed=" + std::to_string(state.seed) +
                    " instead of this loader's seed=" + std::to_string(options_.seed));
  }
  const ToldWindows saved = windows_among(state.transforms), own = windows_among(transforms);
  if (saved.windows != own.windows) {
    notes.push_back("was made with " + windows_text(saved.windows) + ", this loader has " + windows_text(own.windows) +
                    ": the order is the same, but rows have other contents");
  }
  if (saved.rest != own.rest) {
    notes.push_back("was made with other codecs or transforms (" + state.transforms + ") than this loader's (" +
                    std::string(transforms) + ")");
  }
}

// For other weights or sources: the epoch in progress ends, and each source that still exists resumes where it was.
void Cursor::carry(const LoaderState& state, Restored& restored) const {
  if ((state.buckets || options_.bucketed != nullptr) && state.start + state.batch > 0)
    throw Error::invalid_argument(
        "with batching by length, a mixture can change weights or sources only at the end of an epoch; before, the "
        "delivered samples of a source are not the first of its order");
  auto carried = std::make_shared<Carried>();
  carried->epoch = state.epoch + (state.start + state.batch > 0 ? 1 : 0);
  for (const MixedSource& source : options_.mixed->sources) {
    const auto saved = std::ranges::find(state.mixture->sources, source.name, &SavedSource::name);
    const bool known = saved != state.mixture->sources.end();
    if (known && (saved->dataset != source.fingerprint() || saved->samples != source.samples))
      throw Error::invalid_argument(
          "source " + double_quoted(source.name) +
          " has other samples than when the state was saved; give it another name to start it from the beginning");
    carried->taken.push_back(known ? saved->taken : 0);
  }
  restored.notes.push_back("is of a mixture with other weights or sources: epoch " + std::to_string(carried->epoch) +
                           " begins with this loader's, and each source in both mixtures resumes where it was");
  restored.position = {.seed = state.seed,
                       .shuffle_block = options_.shuffle_block,
                       .epoch = carried->epoch,
                       .carried = std::move(carried)};
}

Restored Cursor::load(const LoaderState& state, std::uint64_t fingerprint, std::string_view transforms) const {
  if (state.mixture.has_value() != (options_.mixed != nullptr))
    throw Error::invalid_argument(state.mixture
                                      ? "the state was saved with a mixture, this loader has a single dataset"
                                      : "the state was saved with a single dataset, this loader has a mixture");
  std::string other = state.mixture ? difference(*state.mixture, mixture()) : "";
  if (state.mixture && other.empty() && state.samples != options_.samples)
    other = "the state was saved with " + std::to_string(state.samples) + " samples per epoch, this mixture has " +
            std::to_string(options_.samples);
  if (!other.empty()) {
    if (!options_.mixed->carry) require_rows_of(state, transforms, false);
    if (!options_.mixed->carry)
      throw Error::invalid_argument(other + "; pass on_change=\"carry\" to resume each source where it was");
    if (state.order) require_same(*state.order, order());
    Restored restored;
    carry(state, restored);
    note_differences(state, transforms, restored.notes);
    return restored;
  }
  if (state.dataset != fingerprint) throw Error::invalid_argument("the state belongs to another dataset");
  require_rows_of(state, transforms,
                  state.samples == options_.samples && (!state.order || state.order->subset == subset_));
  if (state.samples != options_.samples) {
    throw Error::invalid_argument("the state was saved with " + std::to_string(state.samples) +
                                  " samples per epoch, this loader has " + std::to_string(options_.samples));
  }
  Restored restored{.position = {.seed = state.seed,
                                 .shuffle_block = options_.shuffle_block,
                                 .epoch = state.epoch,
                                 .start = state.start,
                                 .batch = state.batch}};
  if (state.mixture && state.mixture->since > 0) {
    auto carried = std::make_shared<Carried>();
    carried->epoch = state.mixture->since;
    for (const SavedSource& source : state.mixture->sources) carried->taken.push_back(source.before);
    restored.position.carried = std::move(carried);
  }
  std::vector<std::string>& notes = restored.notes;
  if (!state.order)
    notes.emplace_back(
        "is of version 1, which does not record shuffle, shuffle_block, subset and last_batch: this loader's values "
        "are assumed");
  const bool by_blocks = block_of_version_1_ != 0 && (!state.order || state.order->block_of_version_1);
  if (by_blocks) {
    const std::string block = std::to_string(block_of_version_1_);
    restored.position.shuffle_block = block_of_version_1_;
    notes.push_back(
        "uses the block shuffle that version 1 applied to this dataset by default; pass shuffle=ps.shuffle.blocks(" +
        block + ") to keep it, or shuffle=True if the state was saved without it");
  }
  if (state.order) {
    SavedOrder own = order();
    if (by_blocks) own.shuffle_block = block_of_version_1_;
    require_same(*state.order, own);
  }
  note_differences(state, transforms, notes);
  require_same_buckets(state);
  go_on(state, restored.position);
  return restored;
}

}  // namespace penstock
