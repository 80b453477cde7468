#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <penstock/formats/atomic_file.hpp>
#include <penstock/formats/dataset_writer.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/formats/format.hpp>
#include <penstock/formats/journal.hpp>
#include <penstock/formats/manifest.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// "data/train/" -> "data/train"
fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

const Format& writable_format(const std::string& name) {
  const Format* format = format_named(name);
  if (format == nullptr) throw Error::invalid_argument("unknown format: " + name);
  if (format->write == nullptr) throw Error::invalid_argument("this format is only read: " + name);
  return *format;
}

// Everything that decides the bytes, on one line: a resumed run must agree with it.
std::string describe(const DatasetWriterOptions& options) {
  Manifest fields{.format = options.format,
                  .samples = 0,
                  .fields = options.fields,
                  .classes = options.classes,
                  .shards = {},
                  .made_with = options.made_with};
  Json json = Json::parse(fields.to_json());
  json.erase("samples");
  json.erase("shards");
  json["shard_size"] = options.shard_size;
  json["align"] = options.align;
  return json.dump();
}

void require_same_options(const std::string& before, const std::string& now) {
  if (before == now) return;
  const Json old = Json::parse(before, nullptr, false), asked = Json::parse(now);
  for (const auto& [name, value] : asked.items()) {
    const Json was = old.is_object() && old.contains(name) ? old[name] : Json();
    if (was == value) continue;
    throw Error::invalid_argument("was begun with other options: " + name + " was " + was.dump() + ", now " +
                                  value.dump());
  }
  throw Error::invalid_argument("was begun with other options");
}

std::string shard_name_of(std::size_t number, std::string_view extension) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "shard-%06zu", number);
  return digits + std::string(extension);
}

// Only what `pack` made, or nothing at all, is ever replaced or removed.
void require_ours(const fs::path& folder) {
  if (fs::is_directory(folder) && (fs::is_empty(folder) || fs::exists(folder / Manifest::kFileName))) return;
  throw Error::invalid_argument("will not replace what is no packed dataset: " + folder.string());
}

void require_place(const fs::path& destination, const fs::path& partial, bool overwrite, bool resume) {
  const bool exists = fs::exists(fs::symlink_status(destination));
  if (exists && !overwrite) {
    throw Error::invalid_argument("exists already: " + destination.string() + " (overwrite replaces it)");
  }
  if (exists) require_ours(destination);
  if (fs::exists(partial / Journal::kFileName) && !resume && !overwrite) {
    throw Error::invalid_argument("is left from a run that did not finish: resume continues it, overwrite begins anew");
  }
}

// The steps at the end of a run, each safe to be the last one before a crash: the manifest is written while the journal
// still stands (a resume goes on from there), the folder takes its name, the journal goes. A replaced dataset stands at
// the partial path for a moment, without a journal: the next run may remove it.
void appear(const fs::path& partial, const fs::path& destination, const std::string& manifest) {
  write_atomically(partial / Manifest::kFileName, std::as_bytes(std::span(manifest.data(), manifest.size())));
  if (fs::exists(destination)) {
    fs::remove(destination / Journal::kFileName);
    sync_folder(destination);
    replace_folder(partial, destination);
  } else {
    rename_durably(partial, destination);
  }
  fs::remove(destination / Journal::kFileName);
  sync_folder(destination);
}

}  // namespace

struct DatasetWriter::State {
  fs::path destination, partial;
  DatasetWriterOptions options;
  const Format& format;
  std::optional<Journal> journal = {};
  std::unique_ptr<ShardWriter> shard = {};  // null between shards
  std::string last_key = {};
  bool any_key = false;
  std::uint64_t shard_samples = 0;
  std::uint64_t resumed = 0;
  std::uint64_t whole_bytes = 0;  // of the shards in the journal
  bool over = false;              // finished, or failed: nothing may be added

  void begin();
  void resume();
  void remove_all_but_whole_shards();
  bool is_whole(const ManifestShard& entry) const;
  std::string shard_name() const;
  void add(std::string_view key, std::span<const FieldValue> fields);
  void close_shard();
  void discard_shard();
  void finish();

  // An error names the partial folder, and ends the writer: whole shards stay for a resume, the one begun is removed.
  template <typename Work>
  void guarded(const Work& work) {
    if (over) throw Error::invalid_argument("the dataset is finished, or failed", {.dataset = partial.string()});
    try {
      work();
    } catch (const Error& error) {
      discard_shard();
      throw error.in({.dataset = partial.string()});
    } catch (const fs::filesystem_error& error) {
      discard_shard();
      throw Error::io(error.code().value(), "cannot write " + error.path1().string(), {.dataset = partial.string()});
    }
  }
};

void DatasetWriter::State::begin() {
  require_place(destination, partial, options.overwrite, options.resume);
  const bool begun = fs::exists(partial / Journal::kFileName);
  if (begun && options.resume) return resume();
  if (fs::exists(partial)) {
    begun ? Journal::require_unused(partial) : require_ours(partial);
    fs::remove_all(partial);
  }
  fs::create_directories(partial);
  journal = Journal::begin(partial, describe(options));
}

void DatasetWriter::State::resume() {
  journal = Journal::resume(partial);
  require_same_options(journal->options(), describe(options));
  const std::vector<ManifestShard>& shards = journal->shards();
  std::size_t whole = 0;
  while (whole < shards.size() && shards[whole].name == shard_name_of(whole, format.extension) &&
         is_whole(shards[whole])) {
    resumed += shards[whole].samples;
    whole_bytes += shards[whole].bytes;
    ++whole;
  }
  journal->keep(whole);
  remove_all_but_whole_shards();
  if (whole == 0) return;
  const Index last = Index::open(partial / index_name(journal->shards().back().name));
  last_key = last.key(last.size() - 1);
  any_key = true;
}

bool DatasetWriter::State::is_whole(const ManifestShard& entry) const {
  try {
    check_shard(partial, entry, Index::open(partial / index_name(entry.name)));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void DatasetWriter::State::remove_all_but_whole_shards() {
  std::set<fs::path> kept{Journal::kFileName};
  for (const ManifestShard& entry : journal->shards()) {
    kept.insert(entry.name);
    kept.insert(index_name(entry.name));
  }
  std::vector<fs::path> rest;
  for (const fs::directory_entry& entry : fs::directory_iterator(partial)) {
    if (!kept.contains(entry.path().filename())) rest.push_back(entry.path());
  }
  for (const fs::path& path : rest) fs::remove_all(path);
  sync_folder(partial);
}

std::string DatasetWriter::State::shard_name() const {
  return shard_name_of(journal->shards().size(), format.extension);
}

void DatasetWriter::State::add(std::string_view key, std::span<const FieldValue> fields) {
  if (any_key && key == last_key) throw Error::corrupt("two samples have this key", {.key = last_key});
  std::uint64_t incoming = 0;
  for (const FieldValue& value : fields) incoming += value.bytes.size();
  if (shard != nullptr && shard->bytes() + incoming > options.shard_size) close_shard();
  if (shard == nullptr) {
    shard = format.write(partial / shard_name(), {.fields = options.fields, .align = options.align});
    shard_samples = 0;
  }
  shard->add(key, fields);
  ++shard_samples;
  last_key = key;
  any_key = true;
}

void DatasetWriter::State::close_shard() {
  const std::string name = shard_name();
  const Index index = shard->finish();
  shard.reset();
  if (index.size() != shard_samples)
    throw Error::corrupt("the shard lost samples while it was written", {.shard = name});
  write_atomically(partial / index_name(name), index.bytes());
  const ManifestShard entry = describe_shard(partial, name, index);
  if (fs::is_directory(partial / name)) sync_folder(partial / name);
  sync_folder(partial);
  journal->add(entry);
  whole_bytes += entry.bytes;
}

void DatasetWriter::State::discard_shard() {
  over = true;
  shard.reset();
  if (!journal) return;
  std::error_code ignored;  // a resume removes what stays
  fs::remove_all(partial / shard_name(), ignored);
  fs::remove_all(partial / index_name(shard_name()), ignored);
}

void DatasetWriter::State::finish() {
  if (shard != nullptr) close_shard();
  Manifest manifest{.format = options.format,
                    .samples = 0,
                    .fields = options.fields,
                    .classes = options.classes,
                    .shards = journal->shards(),
                    .made_with = options.made_with};
  for (const ManifestShard& entry : manifest.shards) manifest.samples += entry.samples;
  appear(partial, destination, manifest.to_json());
  over = true;
}

DatasetWriter::DatasetWriter(fs::path destination, DatasetWriterOptions options) {
  const Format& format = writable_format(options.format);
  destination = without_slash(destination);
  fs::path partial = destination.string() + ".partial";
  state_ = std::make_unique<State>(State{.destination = std::move(destination),
                                         .partial = std::move(partial),
                                         .options = std::move(options),
                                         .format = format});
  state_->guarded([&] { state_->begin(); });
}

void DatasetWriter::require_free(const fs::path& destination, const std::string& format, bool overwrite) {
  writable_format(format);
  const fs::path named = without_slash(destination);
  try {
    require_place(named, named.string() + ".partial", overwrite, false);
  } catch (const fs::filesystem_error& error) {
    throw Error::io(error.code().value(), "cannot write " + error.path1().string());
  }
}

DatasetWriter::~DatasetWriter() {
  if (state_ != nullptr && state_->shard != nullptr) state_->discard_shard();
}

std::uint64_t DatasetWriter::resumed_samples() const {
  return state_->resumed;
}

const std::string& DatasetWriter::last_key() const {
  return state_->last_key;
}

void DatasetWriter::add(std::string_view key, std::span<const FieldValue> fields) {
  state_->guarded([&] { state_->add(key, fields); });
}

std::uint64_t DatasetWriter::bytes() const {
  return state_->whole_bytes + (state_->shard == nullptr ? 0 : state_->shard->bytes());
}

void DatasetWriter::finish() {
  state_->guarded([&] { state_->finish(); });
}

}  // namespace penstock
