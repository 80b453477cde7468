#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include <base/waits/interruption.hpp>
#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/hash.hpp>
#include <formats/io/hidden_folder.hpp>
#include <formats/io/ownership.hpp>
#include <formats/io/temporary_place.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/dataset_upload.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <formats/packed/filled_shard.hpp>
#include <formats/packed/journal.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/parts.hpp>
#include <formats/packed/shard_sum.hpp>
#include <formats/places/address.hpp>
#include <formats/places/store_destination.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kSpoolPrefix = ".penstock-spool-";

const Format& writable_format(const std::string& name) {
  const Format* format = format_named(name);
  if (format == nullptr) throw Error::invalid_argument("unknown format: " + name);
  if (format->write == nullptr) throw Error::invalid_argument("this format cannot be written: " + name);
  return *format;
}

// All options that determine the bytes, on one line. A resumed run must have the same.
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
  if (options.planned) json["planned"] = true;
  json["align"] = options.align;
  return json.dump();
}

std::string shard_name_of(std::size_t number, std::string_view extension) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "shard-%06zu", number);
  return digits + std::string(extension);
}

void require_free_destination(const fs::path& destination, const fs::path& partial, bool overwrite, bool resume) {
  const bool exists = fs::exists(fs::symlink_status(destination));
  if (!overwrite) require_absent(destination);
  if (exists) require_ours(destination);
  if (holds_parts(partial)) {
    throw Error::invalid_argument(
        "contains parts that several processes packed: pack-join (ps.finish_pack) joins them; remove the folder to "
        "start again");
  }
  if (fs::exists(partial / Journal::kFileName) && !resume && !overwrite) {
    throw Error::invalid_argument(
        "is left from a run that did not finish: --resume (resume=True) continues it, --overwrite (overwrite=True) "
        "starts again");
  }
}

// Combines the hash of the samples of a shard with the hash of the samples left out among them, if any.
std::uint64_t with_left_out(std::uint64_t samples, std::uint64_t left_out) {
  return left_out == 0 ? samples : mix64(samples ^ mix64(left_out)) >> 1;
}

// A hash of 63 bits, because numbers in JSON are limited to that.
std::uint64_t with_source(std::uint64_t hash, std::uint64_t of_sample) {
  return mix64(hash ^ of_sample) >> 1;
}

// Returns the number in "shard-000012.tar". Returns nothing for other names.
std::optional<std::size_t> shard_number_of(const std::string& name, std::string_view extension) {
  constexpr std::string_view kBefore = "shard-";
  std::size_t number = 0;
  if (!name.starts_with(kBefore)) return std::nullopt;
  std::from_chars(name.data() + kBefore.size(), name.data() + name.size(), number);
  if (shard_name_of(number, extension) != name) return std::nullopt;
  return number;
}

}  // namespace

struct DatasetWriter::State {
  fs::path destination, partial;
  DatasetWriterOptions options;
  const Format& format;
  std::unique_ptr<HiddenFolder> spool;  // local folder for a dataset that goes to a store
  std::unique_ptr<DatasetUpload> upload = {};
  std::optional<Journal> journal = {};
  std::unique_ptr<ShardWriter> shard = {};  // null between shards
  std::string open_name = {};               // of the open shard, also if opening it failed
  // The previous shard, while the background thread completes it. Until then only that thread uses it and the journal.
  std::optional<FilledShard> filled = {};
  std::future<void> completed = {};  // ready when `filled` is complete
  std::string last_key = {};
  bool any_key = false;
  std::size_t number = 0;       // of the open shard, or of the next one
  std::string last_shard = {};  // name of the last closed shard, of this run or the interrupted one
  SkipReport report = SkipReport(partial);
  std::uint64_t skipped_before_last = 0;  // lines of the report when the last sample was added
  std::uint64_t shard_samples = 0;
  std::vector<FieldValue> values = {};                      // of the sample being added
  std::vector<std::vector<std::uint32_t>> range_sums = {};  // of these values
  std::uint64_t shard_source = 0;                           // a hash of options.source_of() for its samples
  std::uint64_t shard_left_out = 0;                         // the same for samples left out before its last sample
  std::vector<std::uint64_t> left_out = {};  // options.source_of() for samples left out after the last one added
  std::uint64_t resumed = 0;
  std::uint64_t whole_bytes = 0;  // of the shards in the journal
  bool over = false;              // finished or failed: nothing may be added

  void begin();
  void begin_in_store();
  void resume();
  std::vector<std::string> left_out_before() const;
  bool continues(const ManifestShard& entry);
  void remove_all_but_whole_shards();
  bool is_whole(const ManifestShard& entry) const;
  bool has_source(const ManifestShard& entry, std::uint64_t source, std::span<const std::string> left_out_keys) const;
  std::string shard_name() const;
  void begin_shard(std::uint64_t wanted);
  void open_shard();
  void add(std::string_view key, std::span<const FieldValue> fields);
  void skip(const SkippedSample& sample);
  void sum_ranges(std::span<const FieldValue> fields);
  void close_shard(bool last = false);
  void complete_filled();
  void await_filled();
  void await_completed();
  void discard_shards() noexcept;
  void finish();
  void finish_in_store(const Manifest& manifest);
  // The place that errors name.
  std::string place() const { return upload ? upload->address() : partial.string(); }

  // Adds the partial folder to an error and ends the writer. Whole shards stay for a resume, incomplete ones are
  // removed.
  template <typename Work>
  void guarded(const Work& work) {
    if (over) throw Error::invalid_argument("the dataset is finished, or failed", {.dataset = place()});
    try {
      work();
    } catch (const Error& error) {
      discard_shards();
      throw error.in({.dataset = place()});
    } catch (const fs::filesystem_error& error) {
      discard_shards();
      throw Error::io(error.code().value(), "cannot write " + error.path1().string(), {.dataset = place()});
    }
  }
};

void DatasetWriter::State::begin() {
  if (upload) return begin_in_store();
  require_free_destination(destination, partial, options.overwrite, options.resume);
  require_own_folder(partial);
  const bool begun = fs::exists(partial / Journal::kFileName);
  if (options.resume && Journal::is_in(partial)) return resume();
  if (fs::exists(partial)) {
    begun ? Journal::require_unused(partial) : require_ours(partial);
    begun ? remove_tree(partial) : remove_dataset(partial);
  }
  fs::create_directories(partial);
  journal = Journal::begin(partial, describe(options));
}

void DatasetWriter::State::begin_in_store() {
  upload->require_free(options.overwrite, options.resume);
  if (options.resume && upload->fetch_journal()) {
    resume();
  } else {
    fs::create_directories(partial);
    journal = Journal::begin(partial, describe(options));
  }
  upload->begin(journal->shards());
  if (format.complete != nullptr) upload->fetch_heads(journal->shards());
}

void DatasetWriter::State::resume() {
  journal = Journal::resume(partial);
  require_same_options(journal->options(), describe(options), "was started with other options");
  const std::vector<ManifestShard>& shards = journal->shards();
  const std::vector<std::string> left_out_keys = left_out_before();
  const auto has_its_source = [&](std::size_t at) {
    const std::uint64_t begin = at == 0 ? 0 : journal->skipped(at - 1), end = journal->skipped(at);
    return begin <= end && end <= left_out_keys.size() &&
           has_source(shards[at], journal->source(at), std::span(left_out_keys).subspan(begin, end - begin));
  };
  std::size_t whole = 0;
  while (whole < shards.size() && continues(shards[whole]) && is_whole(shards[whole]) && has_its_source(whole)) {
    number = *shard_number_of(shards[whole].name, format.extension) + 1;
    resumed += shards[whole].samples;
    whole_bytes += shards[whole].bytes;
    ++whole;
  }
  journal->keep(whole);
  if (whole != 0) last_shard = journal->shards().back().name;
  remove_all_but_whole_shards();
  report.keep(journal->skipped());
  skipped_before_last = journal->skipped();
  if (whole == 0) return;
  const Index last = Index::open(partial / index_name(last_shard));
  last_key = last.key(last.size() - 1);
  any_key = true;
}

// Returns the keys of all samples that the interrupted run left out, up to its last whole shard.
std::vector<std::string> DatasetWriter::State::left_out_before() const {
  if (journal->skipped() == 0) return {};
  std::vector<std::string> keys;
  for (SkippedSample& sample : skipped_samples(read_skip_report(partial))) keys.push_back(std::move(sample.key));
  return keys;
}

// Shards are numbered consecutively, but a plan may skip numbers.
bool DatasetWriter::State::continues(const ManifestShard& entry) {
  const auto found = shard_number_of(entry.name, format.extension);
  return found && (options.planned ? *found >= number : *found == number);
}

bool DatasetWriter::State::is_whole(const ManifestShard& entry) const {
  if (upload) return upload->fetch_index(entry).has_value();
  try {
    check_shard(partial, entry, Index::open(partial / index_name(entry.name)));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Checks that the source has not changed since the shard was packed.
bool DatasetWriter::State::has_source(const ManifestShard& entry, std::uint64_t source,
                                      std::span<const std::string> left_out_keys) const {
  if (source == 0 || !options.source_of) return true;
  const Index index = Index::open(partial / index_name(entry.name));
  std::uint64_t now = 0;
  for (std::uint64_t sample = 0; sample < index.size(); ++sample)
    now = with_source(now, options.source_of(index.key(sample)));
  std::uint64_t skipped = 0;
  for (const std::string& key : left_out_keys) skipped = with_source(skipped, options.source_of(key));
  return with_left_out(now, skipped) == source;
}

void DatasetWriter::State::remove_all_but_whole_shards() {
  std::set<fs::path> kept{Journal::kFileName, SkipReport::kFileName};
  for (const ManifestShard& entry : journal->shards()) {
    kept.insert(entry.name);
    kept.insert(index_name(entry.name));
  }
  std::vector<fs::path> rest;
  visit_names(partial, [&](const char* name) {
    if (!kept.contains(name)) rest.push_back(partial / name);
    return true;
  });
  for (const fs::path& path : rest) remove_tree(path);
  sync_folder(partial);
}

std::string DatasetWriter::State::shard_name() const {
  return shard_name_of(number, format.extension);
}

void DatasetWriter::State::begin_shard(std::uint64_t wanted) {
  if (shard != nullptr) close_shard();
  const bool is_last = last_shard == shard_name_of(wanted, format.extension);
  if (wanted < number && !is_last)
    throw Error::invalid_argument("shards must be started in the order of their numbers");
  number = static_cast<std::size_t>(wanted);
}

void DatasetWriter::State::open_shard() {
  if (last_shard == shard_name()) {
    throw Error::corrupt("its shard was complete without it: the source has changed since packing began",
                         {.shard = shard_name()});
  }
  open_name = shard_name();
  shard = format.write(partial / open_name, {.fields = options.fields,
                                             .align = options.align,
                                             .object = upload ? upload->address() + "/" + shard_name() : ""});
  shard_samples = 0;
  shard_source = 0;
  shard_left_out = 0;
}

// Computes the checksums of ranges for values longer than a range, which may be read in part.
void DatasetWriter::State::sum_ranges(std::span<const FieldValue> fields) {
  values.assign(fields.begin(), fields.end());
  range_sums.resize(std::max(range_sums.size(), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    range_sums[i].clear();
    std::span<const std::byte> rest = values[i].bytes;
    if (rest.size() > RangeSums::kRange) {
      for (; !rest.empty(); rest = rest.subspan(std::min<std::size_t>(RangeSums::kRange, rest.size())))
        range_sums[i].push_back(crc32c(rest.first(std::min<std::size_t>(RangeSums::kRange, rest.size()))));
    }
    values[i].range_sums = range_sums[i];
  }
}

void DatasetWriter::State::add(std::string_view key, std::span<const FieldValue> fields) {
  if (any_key && key == last_key) throw Error::corrupt("two samples have this key", {.key = last_key});
  std::uint64_t incoming = 0;
  for (const FieldValue& value : fields) incoming += value.bytes.size();
  if (!options.planned && shard != nullptr && shard->bytes() + incoming > options.shard_size) close_shard();
  if (shard == nullptr) open_shard();
  sum_ranges(fields);
  shard->add(key, values);
  ++shard_samples;
  if (options.source_of) shard_source = with_source(shard_source, options.source_of(key));
  last_key = key;
  any_key = true;
  for (const std::uint64_t source : left_out) shard_left_out = with_source(shard_left_out, source);
  left_out.clear();
  skipped_before_last = report.lines();
}

void DatasetWriter::State::skip(const SkippedSample& sample) {
  report.add(sample);
  if (options.source_of) left_out.push_back(options.source_of(sample.key));
}

void DatasetWriter::State::close_shard(bool last) {
  await_filled();  // limits memory to two shards, and keeps the order of the journal
  report.sync();
  last_shard = shard_name();
  open_name.clear();
  filled = FilledShard{.writer = std::move(shard),
                       .name = last_shard,
                       .samples = shard_samples,
                       .bytes = 0,
                       .skipped = skipped_before_last,
                       .source = with_left_out(shard_source, shard_left_out),
                       .last = last};
  filled->bytes = filled->writer->bytes();
  ++number;
  if (options.in_background) {
    completed = options.in_background([this] { complete_filled(); });
  } else {
    complete_filled();
    await_filled();
  }
}

void DatasetWriter::State::complete_filled() {
  const Interruptible waits(upload ? upload->when_aborted() : interruption_of_thread());
  const ManifestShard entry = complete(partial, *filled);
  if (upload) upload->add_shard(entry, filled->in_store, format.complete != nullptr);
  journal->add(entry, filled->skipped, filled->source, !filled->last);
  if (upload && !filled->last) upload->save_journal();
}

void DatasetWriter::State::await_completed() {
  if (!completed.valid()) return;
  if (upload && options.go_on) {
    while (completed.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready)
      if (!options.go_on()) upload->abort();
  }
  completed.get();
}

void DatasetWriter::State::await_filled() {
  await_completed();
  if (!filled) return;
  filled.reset();
  whole_bytes += journal->shards().back().bytes;
}

void DatasetWriter::State::discard_shards() noexcept {
  over = true;
  if (upload) upload->abort();
  try {
    if (completed.valid()) completed.wait();
    std::vector<std::string> incomplete;
    if (!open_name.empty()) incomplete.push_back(open_name);
    if (filled && (journal->shards().empty() || journal->shards().back().name != filled->name)) {
      incomplete.push_back(filled->name);
    }
    shard.reset();
    filled.reset();
    for (const std::string& name : incomplete) {
      remove_tree(partial / name);
      remove_tree(partial / index_name(name));
    }
    if (options.keep_unfinished || !journal) return;
    if (upload) upload->discard();
    remove_tree(partial);
  } catch (...) {  // the earlier failure is the one to report, and a resume removes the rest
  }
}

void DatasetWriter::State::finish() {
  if (shard != nullptr) close_shard(true);
  await_filled();
  report.sync();
  Json made_with = Json::parse(options.made_with);
  made_with.merge_patch(Json::parse(options.made_of));
  Manifest manifest{.format = options.format,
                    .samples = 0,
                    .fields = options.fields,
                    .classes = options.classes,
                    .shards = journal->shards(),
                    .made_with = made_with.dump()};
  for (const ManifestShard& entry : manifest.shards) manifest.samples += entry.samples;
  if (upload) {
    finish_in_store(manifest);
    over = true;
    return;
  }
  commit_dataset(partial, destination, manifest.to_json(), Journal::kFileName);
  over = true;
}

// Runs beside the shard in flight: the work is short, or it is MDS's list of all shards.
void DatasetWriter::State::finish_in_store(const Manifest& manifest) {
  const auto work = [&] {
    complete_folder(partial, manifest);
    upload->finish(manifest.shards, manifest.to_json());
  };
  if (!options.in_background) return work();
  completed = options.in_background(work);
  await_completed();
}

DatasetWriter::DatasetWriter(fs::path destination, DatasetWriterOptions options) {
  const Format& format = writable_format(options.format);
  const std::optional<std::string> address = store_destination(destination);
  if (!address) require_writable_place(destination);
  destination = address ? fs::path(*address) : without_slash(destination);
  std::unique_ptr<HiddenFolder> spool;
  if (address) {
    spool = std::make_unique<HiddenFolder>(options.spool.empty() ? fs::path(temporary_place()) : options.spool,
                                           kSpoolPrefix);
  }
  fs::path partial = spool ? spool->path() / "dataset" : partial_path(destination);
  state_ = std::make_unique<State>(State{.destination = std::move(destination),
                                         .partial = std::move(partial),
                                         .options = std::move(options),
                                         .format = format,
                                         .spool = std::move(spool)});
  if (address) state_->upload = std::make_unique<DatasetUpload>(*address, state_->partial);
  state_->guarded([&] { state_->begin(); });
}

void DatasetWriter::require_free(const fs::path& destination, const std::string& format, bool overwrite, bool resume) {
  writable_format(format);
  if (const auto address = store_destination(destination)) {
    DatasetUpload(*address, {}).require_free(overwrite, resume);
    return;
  }
  require_writable_place(destination);
  const fs::path named = without_slash(destination);
  try {
    require_free_destination(named, named.string() + ".partial", overwrite, resume);
  } catch (const fs::filesystem_error& error) {
    throw Error::io(error.code().value(), "cannot write " + error.path1().string());
  }
}

DatasetWriter::~DatasetWriter() {
  if (state_ != nullptr && !state_->over) state_->discard_shards();
}

const fs::path& DatasetWriter::destination() const {
  return state_->destination;
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

void DatasetWriter::begin_shard(std::uint64_t number) {
  state_->guarded([&] { state_->begin_shard(number); });
}

void DatasetWriter::skip(const SkippedSample& sample) {
  state_->guarded([&] { state_->skip(sample); });
}

std::uint64_t DatasetWriter::skipped() const {
  return state_->report.lines();
}

std::uint64_t DatasetWriter::bytes() const {
  return state_->whole_bytes + (state_->filled ? state_->filled->bytes : 0) +
         (state_->shard == nullptr ? 0 : state_->shard->bytes());
}

std::string DatasetWriter::report() const {
  return read_skip_report(state_->upload ? state_->partial : state_->destination);
}

void DatasetWriter::finish() {
  state_->guarded([&] { state_->finish(); });
}

}  // namespace penstock
