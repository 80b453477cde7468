#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include <base/cores.hpp>
#include <base/parallel_for.hpp>
#include <formats/dataset.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/field_types.hpp>
#include <formats/format.hpp>
#include <formats/index/difference.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/labels/shared_classes.hpp>
#include <formats/packed/packed.hpp>
#include <formats/packed/skip_report.hpp>
#include <pack/array_rows.hpp>
#include <pack/delivery_proof.hpp>
#include <pack/key_order.hpp>
#include <pack/recoding.hpp>
#include <penstock/error.hpp>
#include <penstock/pack.hpp>
#include <penstock/verify.hpp>
#include <staging/list.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/jpt.hpp>
#include <transforms/value_reader.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kMostBad = 10'000;

// Maps each sample of `dataset` to the sample of `source` with its key. `lacking` lists the source's other samples.
struct Match {
  std::vector<std::optional<std::uint64_t>> source_of;
  std::vector<std::uint64_t> lacking;
};

Match match(const Dataset& dataset, const Dataset& source) {
  Match result;
  result.source_of.resize(dataset.size());
  const std::vector<std::uint64_t> ours = samples_by_key(dataset), theirs = samples_by_key(source);
  std::size_t i = 0, j = 0;
  while (i < ours.size() && j < theirs.size()) {
    const int order = dataset.key(ours[i]).compare(source.key(theirs[j]));
    if (order == 0) result.source_of[ours[i]] = theirs[j];
    if (order > 0) result.lacking.push_back(theirs[j]);
    i += order <= 0;
    j += order >= 0;
  }
  result.lacking.insert(result.lacking.end(), theirs.begin() + static_cast<std::ptrdiff_t>(j), theirs.end());
  return result;
}

std::optional<std::string_view> class_name(const Dataset& dataset, std::span<const std::byte> value) {
  const auto number = class_number(value, dataset.classes().size());
  if (!number) return {};
  return dataset.classes()[*number];
}

class Verification {
 public:
  Verification(const Dataset& dataset, const Dataset* source, bool decode)
      : dataset_(dataset), source_(source), decode_(decode), recoding_(recoding_of(dataset)) {
    if (source != nullptr) match_ = match(dataset, *source);
  }

  void check_sample(std::uint64_t sample) {
    VerifyResult found;
    found.samples = 1;
    for (std::uint32_t field = 0; field < dataset_.fields().size(); ++field) check_value(sample, field, found);
    if (source_ != nullptr) check_presence(sample, found);
    add(found, sample);
  }

  void check_shard(std::size_t shard) {
    VerifyResult found;
    found.shards_checked = 1;
    try {
      verify_shard(dataset_, shard);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::resource) throw;
      note(found, {}, {}, error.what());
    }
    add(found, dataset_.size() + shard);
  }

  // Shards of existing datasets have no recorded checksums. Their index is checked by building it again.
  void check_index(std::size_t shard) {
    const Format* format = format_named(dataset_.format());
    if (format == nullptr) return;
    VerifyResult found;
    found.indexes_compared = 1;
    const Dataset::Shard& opened = dataset_.shard(shard);
    try {
      const Index now = format->index(shard_path(dataset_, shard), opened.root, {});
      if (const auto difference = index_difference(opened.index, now))
        note(found, {}, {}, opened.name + ": the index does not match the files: it has " + *difference);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::resource) throw;
      note(found, {}, {}, opened.name + ": its index cannot be built again: " + error.what());
    }
    add(found, dataset_.size() + shard);
  }

  VerifyResult result() {
    VerifyResult absent;
    note_lacking(absent);
    for (const FieldSchema& field : dataset_.fields()) {
      try {
        require_one_type(field);
      } catch (const Error& error) {
        note(absent, {}, field.name, error.cause());
      }
    }
    add(absent, dataset_.size() + dataset_.shard_count());
    std::ranges::stable_sort(bad_, std::less{}, &std::pair<std::uint64_t, BadValue>::first);
    for (auto& [order, bad] : bad_) result_.bad.push_back(std::move(bad));
    return std::move(result_);
  }

 private:
  void check_value(std::uint64_t sample, std::uint32_t field, VerifyResult& found) const {
    std::vector<Piece> pieces;
    const std::string key(dataset_.key(sample)), &field_name = dataset_.fields()[field].name;
    try {
      // result() reports these fields.
      if (dataset_.fields()[field].differences.use == FieldDifferences::Use::nothing) return;
      if (!dataset_.locate(sample, field, pieces)) return;
      const std::vector<std::byte> value = read_field(dataset_, sample, field);
      ++found.values;
      found.bytes += value.size();
      if (const auto recorded = dataset_.crc32c(sample, field)) {
        ++found.checked;
        if (*recorded != crc32c(value)) note(found, key, field_name, "the bytes do not match the recorded CRC-32C");
      }
      check_ranges(sample, field, value, found);
      if (decode_) decode(dataset_.fields()[field], value, found);
      if (source_ != nullptr && match_.source_of[sample]) compare(sample, field, value, found);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::resource) throw;
      note(found, key, field_name, error.cause());
    }
  }

  static void decode(const FieldSchema& schema, std::span<const std::byte> value, VerifyResult& found) {
    const ValueKind kind = kind_of_codec(recognised(schema, value).codec);
    if (kind != ValueKind::image && kind != ValueKind::cloud && kind != ValueKind::array) return;
    ++found.decoded;
    ReadValue read;
    ValueReader().read(schema, value, read);
  }

  // The packed dataset lists the samples that `pack` skipped.
  void note_lacking(VerifyResult& found) const {
    if (match_.lacking.empty()) return;
    std::map<std::string, std::string, std::less<>> skipped;
    try {
      const bool may_skip = dataset_.packed() && !dataset_.in_store();
      for (const SkippedSample& sample : skipped_samples(may_skip ? read_skip_report(dataset_.path()) : ""))
        skipped[sample.key] = (sample.field.empty() ? "" : "field " + sample.field + ": ") + sample.cause;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::resource) throw;
      note(found, {}, {}, error.what());
    }
    for (const std::uint64_t sample : match_.lacking) {
      const auto skip = skipped.find(source_->key(sample));
      note(found, std::string(source_->key(sample)), {},
           skip == skipped.end() ? "the source has this sample, the dataset lacks it"
                                 : "the dataset lacks this sample, because pack skipped it: " + skip->second);
    }
  }

  // A loader that reads parts of values only checks these sums, so verify() must check them too.
  void check_ranges(std::uint64_t sample, std::uint32_t field, std::span<const std::byte> value,
                    VerifyResult& found) const {
    const RangeSums sums = dataset_.range_sums(sample, field);
    for (std::uint64_t range = 0; range < sums.size(); ++range) {
      const std::uint64_t begin = std::min<std::uint64_t>(range * RangeSums::kRange, value.size());
      const auto bytes = value.subspan(begin, std::min(RangeSums::kRange, value.size() - begin));
      ++found.ranges_checked;
      if (crc32c(bytes) == sums[range]) continue;
      note(found, std::string(dataset_.key(sample)), dataset_.fields()[field].name,
           dataset_.shard(dataset_.shard_of(sample)).name + ": bytes " + std::to_string(begin) + " to " +
               std::to_string(begin + bytes.size()) + " of the value do not match the recorded CRC-32C");
    }
  }

  void compare(std::uint64_t sample, std::uint32_t field, std::span<const std::byte> value, VerifyResult& found) const {
    const std::string& field_name = dataset_.fields()[field].name;
    const auto source_field = source_->field(field_name);
    std::vector<Piece> pieces;
    const std::uint64_t source_sample = *match_.source_of[sample];
    if (!source_field || !source_->locate(source_sample, *source_field, pieces)) return;
    const std::vector<std::byte> expected = read_field(*source_, source_sample, *source_field);
    ++found.compared;
    const Compared pair{dataset_.key(sample), dataset_.fields()[field], source_->fields()[*source_field], value,
                        expected};
    const std::string fault = difference(pair);
    if (!fault.empty()) note(found, std::string(dataset_.key(sample)), field_name, fault);
  }

  // Returns an empty string if the value is the source's or its recoding, and a loader delivers it correctly.
  std::string difference(const Compared& pair) const {
    if (std::ranges::equal(pair.ours, pair.theirs)) return fault_of_copy(pair);
    if (is_file_of(pair.ours, pair.theirs)) return fault_of_file(pair);
    if (is_array_of(pair)) return fault_of_array(pair);
    if (was_recoded(pair)) return fault_of_recoding(recoding_, pair);
    if (extension_traits(pair.our_schema.name).label) {
      const auto ours = class_name(dataset_, pair.ours), theirs = class_name(*source_, pair.theirs);
      if (ours && theirs && *ours == *theirs) return {};
    }
    return "the bytes differ from the source's";
  }

  // A recoded photograph contains the source's file, whichever program recoded it.
  static bool is_file_of(std::span<const std::byte> value, std::span<const std::byte> expected) {
    if (!jpt_codec().recognises(value) || jpt_codec().recognises(expected)) return false;
    return std::ranges::equal(jpt::Restorer().restore(value).bytes, expected);
  }

  // Packing converts arrays between `.npy` values and rows.
  static bool is_array_of(const Compared& pair) {
    const bool ours = is_npy(pair.our_schema, pair.ours), theirs = is_npy(pair.their_schema, pair.theirs);
    return (ours && is_row(pair.their_schema)) || (theirs && is_row(pair.our_schema));
  }

  // Recoding is deterministic, so the source's value recoded again must equal the packed one.
  bool was_recoded(const Compared& pair) const {
    if (recoding_.keeps_all()) return false;
    const FieldSchema source_field = recognised(pair.their_schema, pair.theirs);
    if (!recoding_.takes(source_field)) return false;
    return std::ranges::equal(FieldRecoder(recoding_).recode(source_field, pair.key, pair.theirs), pair.ours);
  }

  // Checks that the source has the sample, and that the copy has every field of it.
  void check_presence(std::uint64_t sample, VerifyResult& found) const {
    const std::string key(dataset_.key(sample));
    if (!match_.source_of[sample]) return note(found, key, {}, "the source has no such sample");
    std::vector<Piece> pieces;
    for (std::uint32_t theirs = 0; theirs < source_->fields().size(); ++theirs) {
      if (!source_->locate(*match_.source_of[sample], theirs, pieces)) continue;
      const std::string& field_name = source_->fields()[theirs].name;
      const auto ours = dataset_.field(field_name);
      if (!ours || !dataset_.locate(sample, *ours, pieces))
        note(found, key, field_name, "the source has this field, the dataset lacks it");
    }
  }

  static void note(VerifyResult& found, std::string key, std::string field, std::string cause) {
    ++found.bad_count;
    if (found.bad.size() < kMostBad) found.bad.push_back({std::move(key), std::move(field), std::move(cause)});
  }

  void add(VerifyResult& found, std::uint64_t order) {
    const std::lock_guard lock(mutex_);
    result_.samples += found.samples;
    result_.values += found.values;
    result_.bytes += found.bytes;
    result_.checked += found.checked;
    result_.ranges_checked += found.ranges_checked;
    result_.compared += found.compared;
    result_.decoded += found.decoded;
    result_.shards_checked += found.shards_checked;
    result_.indexes_compared += found.indexes_compared;
    result_.bad_count += found.bad_count;
    for (BadValue& bad : found.bad)
      if (bad_.size() < kMostBad) bad_.emplace_back(order, std::move(bad));
  }

  const Dataset& dataset_;
  const Dataset* source_;
  const bool decode_;
  const Recoding recoding_;
  Match match_;
  std::mutex mutex_;  // guards result_ and bad_
  VerifyResult result_;
  std::vector<std::pair<std::uint64_t, BadValue>> bad_;  // with the number by which they are sorted
};

// Reads from an object store spend most of their time waiting, and a store answers many requests at once. Verification
// therefore uses more threads than cores.
unsigned workers_of(const Dataset& dataset, const VerifyOptions& options) {
  constexpr unsigned kForStores = 16;
  const bool in_store = dataset.in_store() || (options.against != nullptr && options.against->in_store());
  return options.workers == 0 && in_store ? std::max(kForStores, usable_cores()) : options.workers;
}

}  // namespace

VerifyResult verify(const Dataset& dataset, const VerifyOptions& options,
                    const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  // Packing may have prefixed the keys with the names of the source's shards.
  std::optional<KeyOrder> source;
  if (options.against != nullptr && dataset.packed()) source = key_order(*options.against);
  Verification verification(dataset, source ? &source->dataset : options.against, options.decode);
  parallel_for(
      dataset.size() + (dataset.is_view() ? 0 : dataset.shard_count()), workers_of(dataset, options),
      [&](std::uint64_t number) {
        if (number < dataset.size())
          verification.check_sample(number);
        else if (dataset.packed())
          verification.check_shard(number - dataset.size());
        else
          verification.check_index(number - dataset.size());
      },
      progress);
  return verification.result();
}

}  // namespace penstock
