#include <algorithm>
#include <atomic>
#include <cerrno>
#include <unordered_map>
#include <utility>

#include <sys/stat.h>

#include <base/handled_error.hpp>
#include <base/printable.hpp>
#include <formats/dataset.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/field_types.hpp>
#include <formats/index/shard_pins.hpp>
#include <formats/lists/listed_samples.hpp>
#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Up to this length, an extent of the index needs no check.
constexpr std::uint64_t kBelieved = std::uint64_t{1} << 20;
constexpr std::uint32_t kNone = kNoField;

// How the numbers of one shard map to those of the dataset: field `f` of the dataset is field_of[f] of the shard, or
// kNone.
struct Numbering {
  std::uint64_t first_sample;
  std::uint64_t first_file;
  std::uint64_t first_block;
  std::uint64_t first_range;
  std::vector<std::uint32_t> field_of;
  std::uint64_t piece_file, piece_block;  // the first number of the files and of the blocks that its pieces refer to
};

bool leaves_out(const Dataset::Shard& shard, std::size_t field) {
  return !shard.fields.empty() && shard.fields.at(field).empty();
}

// Returns the dataset's name for a field of a shard.
std::string name_in(const Dataset::Shard& shard, std::size_t field) {
  return shard.fields.empty() ? shard.index.fields()[field].name : shard.fields.at(field);
}

std::uint64_t size_by_name(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) throw Error::io(errno, "cannot stat " + file.string());
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

struct Dataset::State {
  std::filesystem::path path;
  std::string format;
  std::vector<Shard> shards;
  std::vector<std::string> classes;
  bool packed;
  std::string attributes;

  std::vector<FieldSchema> fields = {};
  std::unordered_map<std::string, std::uint32_t> field_named = {};
  std::vector<bool> complete = {};
  std::vector<Numbering> numbering = {};  // one more than shards: the last entry holds the totals
  std::uint64_t fingerprint = 0;
  // For each file, true after a check that the file is at least as long as its index says. The loads are relaxed: a
  // thread that reads an outdated `false` only repeats the check.
  std::unique_ptr<std::atomic<bool>[]> proven = {};

  void find_fields();
  void give_types();
  bool give_types(Shard& shard);
  void number_shards();
  void find_complete_fields();

  // Calls `read` with the shard that holds the sample, its numbering, and the sample's number in the shard. Adds the
  // dataset and the shard to errors.
  template <typename Read>
  auto in_shard_of(std::uint64_t sample, const Read& read) const {
    const std::size_t shard = shard_of(sample);
    return named(shard, [&] { return read(shards[shard], numbering[shard], sample - numbering[shard].first_sample); });
  }

  template <typename Read>
  auto named(std::size_t shard, const Read& read) const {
    try {
      return read();
    } catch (...) {
      throw handled_error({.dataset = path_of(shard).string(), .shard = shards[shard].name});
    }
  }

  std::vector<const Index*> indexes() const {
    std::vector<const Index*> all;
    for (const Shard& shard : shards) all.push_back(&shard.names());
    return all;
  }

  const std::filesystem::path& path_of(std::size_t shard) const {
    return shards[shard].dataset.empty() ? path : shards[shard].dataset;
  }

  std::size_t shard_of(std::uint64_t sample) const {
    if (sample >= numbering.back().first_sample) refuse(sample, numbering.back().first_sample);
    return holder(sample, &Numbering::first_sample);
  }

  [[noreturn]] void refuse(std::uint64_t sample, std::uint64_t samples) const {
    throw Error::invalid_argument(
        "sample " + std::to_string(sample) + " of " + std::to_string(samples) + " does not exist",
        {.dataset = path.string()});
  }

  // Returns the shard whose range of `first` contains `number`. `number` must be below the total.
  std::size_t holder(std::uint64_t number, std::uint64_t Numbering::*first) const {
    const auto next =
        std::upper_bound(numbering.begin(), numbering.end(), number,
                         [first](std::uint64_t value, const Numbering& entry) { return value < entry.*first; });
    return static_cast<std::size_t>(next - numbering.begin()) - 1;
  }

  // Checks that the file is as long as its index says. Readers allocate memory for an extent before they open its file.
  // The check prevents huge allocations because of a corrupt index. Each file is checked once. `extent.file` is the
  // shard's own number of the file.
  void prove(std::size_t s, const Extent& extent) const {
    std::atomic<bool>& known = proven[numbering[s].first_file + extent.file];
    if (known.load(std::memory_order_relaxed)) return;
    const IndexedFile indexed = shards[s].index.file(extent.file);
    const std::filesystem::path file = shards[s].root / indexed.path;
    const StoredObject* const object =
        extent.file < shards[s].objects.size() ? shards[s].objects[extent.file].get() : nullptr;
    const std::uint64_t size = object != nullptr ? object->info.size : size_by_name(file);
    if (extent.offset > size || extent.length > size - extent.offset) {
      throw Error::corrupt("file ends inside the field: the index places " + std::to_string(extent.length) +
                               " bytes in a file of " + std::to_string(size),
                           {.offset = extent.offset});
    }
    if (indexed.size <= size) known.store(true, std::memory_order_relaxed);
  }

  void prove(std::size_t s, const Piece& piece) const {
    // Borrowed pieces were checked in the shards that own them.
    if (piece.length <= kBelieved || shards[s].borrowed != 0) return;
    if (piece.kind == Piece::Kind::extent) prove(s, piece.extent);
    if (piece.kind == Piece::Kind::block) prove(s, shards[s].values().block(piece.block).extent);
  }

  std::uint32_t local_field(const Numbering& entry, std::uint32_t field) const {
    if (field >= fields.size()) {
      throw Error::invalid_argument("field " + std::to_string(field) + " does not exist", {.dataset = path.string()});
    }
    return entry.field_of[field];
  }
};

void Dataset::State::find_fields() {
  std::vector<FieldTypes> types;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const Shard& shard = shards[s];
    const std::filesystem::path& of = path_of(s);
    const std::string place = (of.filename() == shard.name ? of : of / shard.name).string();
    for (std::size_t own = 0; own < shard.index.fields().size(); ++own) {
      if (leaves_out(shard, own)) continue;
      FieldSchema schema = shard.index.fields()[own];
      schema.name = name_in(shard, own);
      const auto [known, added] = field_named.try_emplace(schema.name, static_cast<std::uint32_t>(types.size()));
      if (added) types.emplace_back();
      types[known->second].add(schema, {shard.name, place, shard.index.size() != 0});
    }
  }
  try {
    for (const FieldTypes& field : types) fields.push_back(field.together());
  } catch (const Error& error) {
    throw error.in({.dataset = path.string()});
  }
}

// If a field cannot be converted in one shard, no shard converts it. Therefore each such field restarts the pass.
void Dataset::State::give_types() {
  while (!std::ranges::all_of(shards, [this](Shard& shard) { return give_types(shard); })) {
  }
}

// Returns false after it marked a field that cannot be converted. Fields that are left out keep their types, because
// other shards may refer to their blocks (Shard::borrowed).
bool Dataset::State::give_types(Shard& shard) {
  if (shard.index.size() == 0) return true;
  std::vector<TypeChange> changes;
  bool as_before = true;
  for (std::uint32_t own = 0; own < shard.index.fields().size(); ++own) {
    const FieldSchema &stored = shard.index.fields()[own], &before = shard.values().fields()[own];
    TypeChange change{own, stored.codec, stored.dtype};
    if (leaves_out(shard, own)) {
      change = {own, before.codec, before.dtype};
    } else if (const FieldSchema& all = fields[field_named.at(name_in(shard, own))]; needs_change(stored, all)) {
      change = {own, all.codec, all.dtype};
    }
    if (change.codec != before.codec || change.dtype != before.dtype) as_before = false;
    if (change.codec != stored.codec || change.dtype != stored.dtype) changes.push_back(std::move(change));
  }
  if (as_before) return true;
  shard.typed.reset();
  if (changes.empty()) return true;
  try {
    shard.typed = with_types(shard.names(), changes);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw error.in({.dataset = path.string(), .shard = shard.name});
    for (const TypeChange& change : changes) {
      const FieldSchema& stored = shard.index.fields()[change.field];
      if (stored.name != error.context().field || leaves_out(shard, change.field)) continue;
      FieldDifferences& differences = fields[field_named.at(name_in(shard, change.field))].differences;
      const bool in_place = codec_traits(stored.codec).in_place;
      differences.use = in_place ? FieldDifferences::Use::nothing : FieldDifferences::Use::stored_bytes;
    }
    return false;
  }
}

void Dataset::State::number_shards() {
  std::uint64_t samples = 0, files = 0, blocks = 0, ranges = 0;
  // Only views have shards of generated samples, and the fingerprint of a view comes from its list.
  bool made = false;
  for (const Shard& shard : shards) {
    const Numbering* lender = shard.borrowed == 0 ? nullptr : &numbering.at(numbering.size() - shard.borrowed);
    numbering.push_back({.first_sample = samples,
                         .first_file = files,
                         .first_block = blocks,
                         .first_range = ranges,
                         .field_of = {},
                         .piece_file = lender == nullptr ? files : lender->first_file,
                         .piece_block = lender == nullptr ? blocks : lender->first_block});
    samples += shard.index.size();
    files += shard.index.file_count();
    blocks += shard.values().block_count();
    ranges += shard.values().range_count();
    if (shard.index.made() != nullptr) made = true;
    if (!made) fingerprint = fingerprint * key_hash_power(shard.index.size()) + shard.names().key_hash();
  }
  numbering.push_back({.first_sample = samples,
                       .first_file = files,
                       .first_block = blocks,
                       .first_range = ranges,
                       .field_of = {},
                       .piece_file = files,
                       .piece_block = blocks});
  if (files >= kNone || blocks >= kNone) {
    throw Error::unsupported("more than 4294967294 files or blocks", {.dataset = path.string()});
  }
  proven = std::make_unique<std::atomic<bool>[]>(files);
  for (std::size_t s = 0; s < shards.size(); ++s) {
    numbering[s].field_of.assign(fields.size(), kNone);
    for (std::uint32_t f = 0; f < shards[s].index.fields().size(); ++f) {
      if (!leaves_out(shards[s], f)) numbering[s].field_of[field_named.at(name_in(shards[s], f))] = f;
    }
  }
}

void Dataset::State::find_complete_fields() {
  for (std::size_t f = 0; f < fields.size(); ++f) {
    bool everywhere = true;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      const std::uint32_t own = numbering[s].field_of[f];
      if (shards[s].index.size() != 0 && (own == kNone || !shards[s].index.complete(own))) everywhere = false;
    }
    complete.push_back(everywhere);
  }
}

// The part of a view that is not shared with the dataset: its choice, and cached facts about the choice.
struct Dataset::View {
  enum class Answer : std::uint8_t { unknown, no, yes };

  View(Choice chosen, std::size_t fields)
      : choice(std::move(chosen)),
        complete(std::make_unique<std::atomic<Answer>[]>(fields)),
        first_list(lists_made.fetch_add(1 + choice.joined.size(), std::memory_order_relaxed)) {}

  // A loader asks for the key, location, length and checksum of one sample in turn. Therefore each thread caches the
  // last answer if the list needs a search.
  std::uint64_t stored(std::uint32_t number, std::uint64_t sample) const {
    const SampleList& list = choice.list(number);
    if (list.is_run()) return list[sample];
    static thread_local struct { std::uint64_t list = 0, sample = 0, stored = 0; } last;
    if (last.list != first_list + number || last.sample != sample)
      last = {.list = first_list + number, .sample = sample, .stored = list[sample]};
    return last.stored;
  }

  const Choice choice;
  // Two threads that compute it at once get the same number. `fingerprinted` is set, with release order, after the
  // number.
  mutable std::atomic<std::uint64_t> fingerprint{0};
  mutable std::atomic<bool> fingerprinted{false};
  const std::unique_ptr<std::atomic<Answer>[]> complete;  // per field; relaxed, because each entry is independent
  const std::uint64_t first_list;                         // unique among the lists of this process

 private:
  inline static std::atomic<std::uint64_t> lists_made{1};
};

Dataset::Dataset(std::filesystem::path path, std::string format, std::vector<Shard> shards,
                 std::vector<std::string> classes, bool packed, std::string attributes) {
  auto state = std::make_shared<State>(State{.path = std::move(path),
                                             .format = std::move(format),
                                             .shards = std::move(shards),
                                             .classes = std::move(classes),
                                             .packed = packed,
                                             .attributes = std::move(attributes)});
  state->find_fields();
  state->give_types();
  state->number_shards();
  state->find_complete_fields();
  state_ = std::move(state);
}

Dataset::Dataset(const Dataset& of, Choice choice) : state_(of.state_) {
  if (choice.samples.empty()) {
    throw Error::invalid_argument((choice.about.empty() ? "a view" : choice.about) + ": chooses none of " +
                                      with_commas(choice.among) + " samples",
                                  {.dataset = of.path().string()});
  }
  view_ = std::make_shared<const View>(std::move(choice), state_->fields.size());
}

// Returns the sample's number among all samples of all shards.
std::uint64_t Dataset::stored(std::uint64_t sample) const {
  if (view_ == nullptr) return sample;
  if (sample >= size()) state_->refuse(sample, size());
  return view_->stored(0, sample);
}

std::uint64_t Dataset::stored(std::uint64_t sample, std::uint32_t field) const {
  if (view_ == nullptr) return sample;
  if (sample >= size()) state_->refuse(sample, size());
  return view_->stored(view_->choice.list_of(field), sample);
}

bool Dataset::is_view() const {
  return view_ != nullptr;
}

Dataset::Choice Dataset::choice() const {
  if (view_ != nullptr) return view_->choice;
  return {.samples = SampleList::range(0, size()), .among = size()};
}

std::string Dataset::about() const {
  if (view_ == nullptr) return {};
  const Choice& choice = view_->choice;
  if (choice.about.empty()) return with_commas(size()) + " samples";
  return choice.about + "; " + with_commas(size()) + " of " + with_commas(choice.among) + " samples";
}

const std::filesystem::path& Dataset::path() const {
  return state_->path;
}

std::string_view Dataset::format() const {
  return state_->format;
}

bool Dataset::packed() const {
  return state_->packed;
}

std::uint64_t Dataset::size() const {
  return view_ != nullptr ? view_->choice.samples.size() : state_->numbering.back().first_sample;
}

std::span<const FieldSchema> Dataset::fields() const {
  return state_->fields;
}

std::optional<std::uint32_t> Dataset::field(std::string_view name) const {
  const auto known = state_->field_named.find(std::string(name));
  if (known == state_->field_named.end()) return std::nullopt;
  return known->second;
}

std::span<const std::string> Dataset::classes() const {
  return state_->classes;
}

std::string_view Dataset::attributes() const {
  return state_->attributes;
}

std::string_view Dataset::key(std::uint64_t sample) const {
  return state_->in_shard_of(stored(sample), [](const Shard& shard, const Numbering&, std::uint64_t local) {
    return shard.names().key(local);
  });
}

// Several shards of a view may contain a key, and one shard several times. The view may have chosen only some of them.
std::optional<std::uint64_t> Dataset::find(std::string_view key) const {
  std::optional<std::uint64_t> found;
  for (std::size_t s = 0; s < state_->shards.size(); ++s) {
    const Index& index = state_->shards[s].names();
    auto local = state_->named(s, [&] { return index.find(key); });
    if (local && view_ == nullptr) return state_->numbering[s].first_sample + *local;
    for (; local && *local < index.size() && index.key(*local) == key; ++*local) {
      const auto place = view_->choice.samples.find(state_->numbering[s].first_sample + *local);
      if (place && (!found || *place < *found)) found = place;
    }
  }
  return found;
}

bool Dataset::locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const {
  return state_->in_shard_of(stored(sample, field),
                             [&](const Shard& shard, const Numbering& numbering, std::uint64_t local) {
                               const std::uint32_t own = state_->local_field(numbering, field);
                               pieces.clear();
                               if (own == kNone || !shard.values().locate(local, own, pieces)) return false;
                               for (Piece& piece : pieces) {
                                 state_->prove(static_cast<std::size_t>(&shard - state_->shards.data()), piece);
                                 if (piece.kind == Piece::Kind::extent)
                                   piece.extent.file += static_cast<std::uint32_t>(numbering.piece_file);
                                 if (piece.kind == Piece::Kind::block)
                                   piece.block += static_cast<std::uint32_t>(numbering.piece_block);
                               }
                               return true;
                             });
}

std::uint64_t Dataset::length(std::uint64_t sample, std::uint32_t field) const {
  return state_->in_shard_of(stored(sample, field),
                             [&](const Shard& shard, const Numbering& numbering, std::uint64_t local) -> std::uint64_t {
                               const std::uint32_t own = state_->local_field(numbering, field);
                               return own == kNone ? 0 : shard.values().length(local, own);
                             });
}

bool Dataset::complete(std::uint32_t field) const {
  if (field >= state_->complete.size()) return false;
  if (state_->complete[field] || view_ == nullptr) return state_->complete[field];
  std::atomic<View::Answer>& known = view_->complete[field];
  if (const View::Answer answer = known.load(std::memory_order_relaxed); answer != View::Answer::unknown)
    return answer == View::Answer::yes;
  const bool everywhere = all_have(view_->choice.list(view_->choice.list_of(field)), state_->indexes(),
                                   [&](std::size_t s) { return state_->numbering[s].field_of[field]; });
  known.store(everywhere ? View::Answer::yes : View::Answer::no, std::memory_order_relaxed);
  return everywhere;
}

std::optional<std::uint32_t> Dataset::crc32c(std::uint64_t sample, std::uint32_t field) const {
  return state_->in_shard_of(
      stored(sample, field),
      [&](const Shard& shard, const Numbering& numbering, std::uint64_t local) -> std::optional<std::uint32_t> {
        const std::uint32_t own = state_->local_field(numbering, field);
        if (own == kNone) return std::nullopt;
        return shard.values().crc32c(local, own);
      });
}

std::span<const std::byte> Dataset::header(std::uint64_t sample, std::uint32_t field) const {
  return state_->in_shard_of(
      stored(sample, field),
      [&](const Shard& shard, const Numbering& numbering, std::uint64_t local) -> std::span<const std::byte> {
        const std::uint32_t own = state_->local_field(numbering, field);
        if (own == kNone) return {};
        return shard.values().header(local, own);
      });
}

RangeSums Dataset::range_sums(std::uint64_t sample, std::uint32_t field) const {
  return state_->in_shard_of(stored(sample, field),
                             [&](const Shard& shard, const Numbering& numbering, std::uint64_t local) {
                               const std::uint32_t own = state_->local_field(numbering, field);
                               RangeSums sums = own == kNone ? RangeSums() : shard.values().range_sums(local, own);
                               sums.first += numbering.first_range;
                               return sums;
                             });
}

std::uint64_t Dataset::range_count() const {
  return state_->numbering.back().first_range;
}

Block Dataset::block(std::uint32_t number) const {
  if (number >= block_count()) {
    throw Error::invalid_argument("block " + std::to_string(number) + " does not exist", {.dataset = path().string()});
  }
  const std::size_t shard = state_->holder(number, &Numbering::first_block);
  const Numbering& numbering = state_->numbering[shard];
  Block block = state_->named(shard, [&] {
    Block own = state_->shards[shard].values().block(static_cast<std::uint32_t>(number - numbering.first_block));
    if (std::max(own.extent.length, own.decoded_length) > kBelieved) state_->prove(shard, own.extent);
    return own;
  });
  block.extent.file += static_cast<std::uint32_t>(numbering.first_file);
  if (block.mosaic) block.mosaic->first_block += static_cast<std::uint32_t>(numbering.first_block);
  return block;
}

std::uint32_t Dataset::block_count() const {
  return static_cast<std::uint32_t>(state_->numbering.back().first_block);
}

std::uint32_t Dataset::file_count() const {
  return static_cast<std::uint32_t>(state_->numbering.back().first_file);
}

DataFile Dataset::file(std::uint32_t number) const {
  if (number >= file_count()) {
    throw Error::invalid_argument("file " + std::to_string(number) + " does not exist", {.dataset = path().string()});
  }
  const std::size_t s = state_->holder(number, &Numbering::first_file);
  const Shard& shard = state_->shards[s];
  const IndexedFile indexed = state_->named(
      s, [&] { return shard.index.file(static_cast<std::uint32_t>(number - state_->numbering[s].first_file)); });
  return {.path = shard.root / indexed.path, .size = indexed.size};
}

const std::shared_ptr<const StoredObject>& Dataset::stored_object(std::uint32_t number) const {
  static const std::shared_ptr<const StoredObject> of_disk;
  if (number >= file_count()) return of_disk;
  const std::size_t s = state_->holder(number, &Numbering::first_file);
  const std::size_t own = number - state_->numbering[s].first_file;
  const auto& objects = state_->shards[s].objects;
  return own < objects.size() ? objects[own] : of_disk;
}

bool Dataset::in_store() const {
  return std::ranges::any_of(state_->shards, [](const Shard& shard) { return !shard.objects.empty(); });
}

void Dataset::require_unchanged(std::uint32_t number, const FileIdentity& now) const {
  const DataFile file = this->file(number);
  const std::size_t s = state_->holder(number, &Numbering::first_file);
  const Shard& shard = state_->shards[s];
  if (shard.pins == nullptr) return;
  const auto own = static_cast<std::uint32_t>(number - state_->numbering[s].first_file);
  const std::string path = shard.index.file(own).path;
  const std::string name = shard.index.file_count() == 1 ? shard.name : path;
  if (now.size != file.size) {
    throw Error::invalid_argument("was replaced or written to since the dataset was opened: it has " +
                                      std::to_string(now.size) + " bytes, its index says " + std::to_string(file.size) +
                                      "; open the dataset again and create a new loader",
                                  {.dataset = state_->path_of(s).string(), .shard = name});
  }
  const bool holds = state_->named(s, [&] { return shard.pins->hold(own, path, now, shard.index); });
  if (!holds) {
    throw Error::invalid_argument(
        "was replaced or written to since the dataset was opened; open the dataset again and create a new loader",
        {.dataset = state_->path_of(s).string(), .shard = name});
  }
}

void Dataset::require_not_written_to(const std::function<bool(std::size_t shard)>& checks) const {
  for (std::size_t s = 0; s < state_->shards.size(); ++s) {
    const Shard& shard = state_->shards[s];
    // Objects are skipped: each read already requires the version that was opened.
    if (shard.pins == nullptr || shard.pins->of_folder() || !shard.objects.empty() || !checks(s)) continue;
    for (std::uint32_t own = 0; own < shard.index.file_count(); ++own) {
      const auto now = identity_by_name(shard.root / shard.index.file(own).path);
      if (!now || !shard.pins->is_same_file(own, *now)) continue;
      require_unchanged(static_cast<std::uint32_t>(state_->numbering[s].first_file) + own, *now);
    }
  }
}

std::uint64_t Dataset::mark(std::uint32_t number) const {
  const DataFile file = this->file(number);
  const std::size_t s = state_->holder(number, &Numbering::first_file);
  const Shard& shard = state_->shards[s];
  if (shard.pins == nullptr) return 0;
  const auto own = static_cast<std::uint32_t>(number - state_->numbering[s].first_file);
  return shard.pins->mark(own, shard.index.file(own).path) ^ file.size;
}

std::size_t Dataset::shard_count() const {
  return state_->shards.size();
}

std::size_t Dataset::shard_of(std::uint64_t sample) const {
  return state_->shard_of(stored(sample));
}

std::size_t Dataset::shard_of(std::uint64_t sample, std::uint32_t field) const {
  return state_->shard_of(stored(sample, field));
}

const std::filesystem::path& Dataset::path_of_shard(std::size_t shard) const {
  return state_->path_of(shard);
}

const Dataset::Shard& Dataset::shard(std::size_t number) const {
  return state_->shards.at(number);
}

std::uint64_t Dataset::first_sample(std::size_t shard) const {
  return state_->numbering.at(shard).first_sample;
}

std::uint64_t Dataset::fingerprint() const {
  if (view_ == nullptr) return state_->fingerprint;
  if (!view_->fingerprinted.load(std::memory_order_acquire)) {
    view_->fingerprint.store(fingerprint_of(view_->choice.samples, state_->indexes()), std::memory_order_relaxed);
    view_->fingerprinted.store(true, std::memory_order_release);
  }
  return view_->fingerprint.load(std::memory_order_relaxed);
}

}  // namespace penstock
