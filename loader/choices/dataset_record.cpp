#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/index/index.hpp>
#include <formats/lists/sample_list.hpp>
#include <formats/places/address.hpp>
#include <loader/choices/dataset_record.hpp>
#include <order/tokens/block_samples.hpp>
#include <penstock/error.hpp>
#include <penstock/select.hpp>
#include <penstock/views.hpp>

namespace penstock {
namespace {

// The format of a record: kMagic, kRecordVersion, then a dataset:
//
//   dataset   0 opened | 1 opened choice | 2 name format classes groups choice
//   opened    path options shards fingerprint
//   options   count, then the name and value of each given option (version 1: none)
//   groups    count, then each: 0 opened | 1 dataset (of documents) length options fingerprint; for each shard: 0, or
//             1 and the names of its fields
//   choice    lists of samples, the first one of keys; for each field the number of its list; about; among
//   list      samples, then runs: distance of the first sample from the end of the last run (zigzag), and length
//
// Numbers are LEB128. Texts are their length and bytes. Consecutive shards of one dataset form a group.
constexpr std::string_view kMagic = "penstock dataset\n";
constexpr std::uint64_t kRecordVersion = 2, kWithoutOptions = 1;
constexpr std::uint64_t kWhole = 0, kChoice = 1, kSeveral = 2;
constexpr std::uint64_t kOpened = 0, kBlocks = 1;
constexpr int kDeepest = 32;                 // nesting of datasets of documents
constexpr std::uint64_t kRunsAsSuch = 1000;  // longer lists become bits or a table

[[noreturn]] void refuse_record(const std::string& cause) {
  throw Error::corrupt("the record of a dataset " + cause);
}

std::uint64_t fingerprint_of_shards(const Dataset& dataset, std::size_t first, std::size_t count) {
  std::uint64_t all = 0;
  for (std::size_t number = first; number < first + count; ++number) {
    const Index& index = dataset.shard(number).index;
    all = all * key_hash_power(index.size()) + index.key_hash();
  }
  return all;
}

// ---- Writing --------------------------------------------------------------------------------------------------------

class RecordWriter {
 public:
  explicit RecordWriter(std::uint64_t version) : version_(version) {}

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  void integer(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  template <typename Texts>
  void texts(const Texts& values) {
    number(values.size());
    for (const auto& value : values) text(value);
  }
  void optional(const std::optional<std::int64_t>& value) {
    number(value ? 1 : 0);
    if (value) integer(*value);
  }

  void dataset(const Dataset& dataset) {
    const bool one = dataset.shard_count() == 0 || dataset.shard(0).dataset.empty();
    number(!one ? kSeveral : dataset.is_view() ? kChoice : kWhole);
    if (one) {
      opened(dataset, 0, dataset.shard_count());
    } else {
      text(dataset.path().native());
      text(dataset.format());
      texts(dataset.classes());
      groups(dataset);
    }
    if (dataset.is_view()) choice(dataset.choice());
  }

  std::string take() { return std::move(bytes_); }

 private:
  void opened(const Dataset& dataset, std::size_t first, std::size_t count) {
    const std::filesystem::path& path = count == 0 ? dataset.path() : dataset.path_of_shard(first);
    text(is_address(path) ? path.native() : std::filesystem::absolute(path).native());
    if (version_ != kWithoutOptions)
      open_options(first < dataset.shard_count() ? options_of(dataset.shard(first)) : OpenOptions());
    number(count);
    number(fingerprint_of_shards(dataset, first, count));
  }

  void open_options(const OpenOptions& options) {
    const auto given = given_options(options);
    number(given.size());
    for (const auto& [name, value] : given) {
      text(name);
      text(value);
    }
  }

  void groups(const Dataset& dataset) {
    const std::vector<std::size_t> bounds = bounds_of_groups(dataset);
    number(bounds.size() - 1);
    for (std::size_t group = 0; group + 1 < bounds.size(); ++group) {
      const std::size_t first = bounds[group], end = bounds[group + 1];
      const auto* blocks = dynamic_cast<const BlockSamples*>(dataset.shard(end - 1).index.made());
      if (blocks == nullptr) {
        number(kOpened);
        opened(dataset, first, end - first);
      } else {
        number(kBlocks);
        this->dataset(blocks->documents().dataset());
        number(blocks->length_of_blocks());
        options(blocks->options());
        number(dataset.shard(end - 1).index.key_hash());
      }
      for (std::size_t shard = first; shard < end; ++shard) {
        const std::vector<std::string>& names = dataset.shard(shard).fields;
        number(names.empty() ? 0 : 1);
        if (!names.empty()) texts(names);
      }
    }
  }

  // Returns the group boundaries and the end of the last group. Blocks of tokens follow the shards that they borrow
  // from, and those may belong to several datasets.
  static std::vector<std::size_t> bounds_of_groups(const Dataset& dataset) {
    const std::size_t shards = dataset.shard_count();
    // For the first borrowed shard: the end of the blocks; 0: not borrowed.
    std::vector<std::size_t> end_of_blocks(shards, 0);
    for (std::size_t shard = 0; shard < shards; ++shard) {
      if (dataset.shard(shard).index.made() != nullptr)
        end_of_blocks[shard - dataset.shard(shard).borrowed] = shard + 1;  // the last shard borrows from all of them
    }
    std::vector<std::size_t> bounds{0};
    while (bounds.back() < shards) {
      const std::size_t first = bounds.back();
      std::size_t end = end_of_blocks[first];
      if (end == 0) {
        end = first + 1;
        const auto goes_on = [&](std::size_t shard) {
          return end_of_blocks[shard] == 0 && dataset.path_of_shard(shard) == dataset.path_of_shard(first) &&
                 options_of(dataset.shard(shard)) == options_of(dataset.shard(first));
        };
        while (end < shards && goes_on(end)) ++end;
      }
      bounds.push_back(end);
    }
    return bounds;
  }

  void options(const TokenOptions& options) {
    text(options.field);
    number(static_cast<std::uint64_t>(options.packing));
    number(options.dtype ? 1 : 0);
    if (options.dtype) text(name(*options.dtype));
    optional(options.end);
    integer(options.pad);
    number(options.window);
    number(options.shuffle ? 1 : 0);
    if (options.shuffle) number(*options.shuffle);
    number((options.pad_last ? 1U : 0U) | (options.whole ? 2U : 0U) | (options.positions ? 4U : 0U) |
           (options.segment_ids ? 8U : 0U) | (options.cu_lengths ? 16U : 0U));
  }

  void choice(const Dataset::Choice& choice) {
    number(1 + choice.joined.size());
    list(choice.samples);
    for (const SampleList& joined : choice.joined) list(joined);
    number(choice.list_of_field.size());
    for (const std::uint32_t list : choice.list_of_field) number(list);
    text(choice.about);
    number(choice.among);
  }

  void list(const SampleList& list) {
    number(list.size());
    std::uint64_t end = 0;
    list.for_each_run([&](std::uint64_t first, std::uint64_t count) {
      integer(static_cast<std::int64_t>(first - end));
      number(count);
      end = first + count;
    });
  }

  const std::uint64_t version_;
  std::string bytes_;
};

// ---- Reading --------------------------------------------------------------------------------------------------------

class RecordReader {
 public:
  RecordReader(std::string_view bytes, const OpenRecorded& open) : bytes_(bytes), open_(open) {}

  // Called once, before all other functions.
  void version() {
    version_ = number();
    if (version_ < kWithoutOptions || version_ > kRecordVersion)
      throw Error::unsupported("the record of a dataset has version " + std::to_string(version_) +
                               ", but this penstock reads version " + std::to_string(kRecordVersion));
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) refuse_record("ends too early");
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    refuse_record("has a number that is too large");
  }
  // Reads the number of things that need at least one byte each. The limit protects against huge allocations from a
  // damaged record.
  std::uint64_t count() {
    const std::uint64_t value = number();
    if (value > bytes_.size()) refuse_record("ends too early");
    return value;
  }
  std::int64_t integer() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  std::string text() {
    const std::uint64_t length = count();
    std::string value(bytes_.substr(0, length));
    bytes_.remove_prefix(length);
    return value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values;
    for (std::uint64_t left = count(); left > 0; --left) values.push_back(text());
    return values;
  }

  Dataset dataset(int depth = 0) {
    if (depth > kDeepest) refuse_record("is nested too deeply");
    const std::uint64_t kind = number();
    if (kind == kWhole) return opened();
    if (kind == kChoice) {
      const Dataset whole = opened();
      return chosen(whole);
    }
    if (kind != kSeveral) refuse_record("contains an unknown kind of dataset");
    std::filesystem::path name = text();
    std::string format = text();
    std::vector<std::string> classes = texts();
    std::vector<Dataset::Shard> shards;
    for (std::uint64_t left = count(); left > 0; --left) add_group(shards, depth);
    return chosen(Dataset(std::move(name), std::move(format), std::move(shards), std::move(classes), false));
  }

  bool at_end() const { return bytes_.empty(); }

 private:
  Dataset opened() {
    const std::filesystem::path path = text();
    const OpenOptions how = open_options();
    const std::uint64_t shards = number(), fingerprint = number();
    Dataset dataset = opened_at(path, how);
    if (dataset.shard_count() != shards || dataset.fingerprint() != fingerprint) refuse_keys(path);
    return dataset;
  }

  OpenOptions open_options() {
    OpenOptions options;
    if (version_ == kWithoutOptions) return options;
    for (std::uint64_t left = count(); left > 0; --left) {
      const std::string name = text();
      set_open_option(options, name, text());
    }
    return options;
  }

  const Dataset& opened_at(const std::filesystem::path& path, const OpenOptions& options) {
    const std::pair place(path, options_text(options));
    const auto known = opened_.find(place);
    return known != opened_.end() ? known->second : opened_.emplace(place, open_(path, options)).first->second;
  }

  [[noreturn]] static void refuse_keys(const std::filesystem::path& path) {
    throw Error::invalid_argument(
        "the dataset has changed since it was pickled: its keys, their order, its shards or fields differ; open the "
        "dataset and select the samples again",
        {.dataset = path.string()});
  }

  // Appends the shards of a group.
  void add_group(std::vector<Dataset::Shard>& shards, int depth) {
    const std::size_t begin = shards.size();
    const std::uint64_t kind = number();
    if (kind == kOpened) {
      add_opened(shards);
    } else if (kind == kBlocks) {
      add_blocks(shards, depth);
    } else {
      refuse_record("contains an unknown kind of shards");
    }
    for (std::size_t shard = begin; shard < shards.size(); ++shard) {
      if (number() == 0) continue;
      shards[shard].fields = texts();
      if (shards[shard].fields.size() != shards[shard].index.fields().size())
        refuse_keys(shards[shard].dataset);  // the keys are the same, but its fields differ
    }
  }

  // The group may contain the same dataset several times in sequence.
  void add_opened(std::vector<Dataset::Shard>& shards) {
    const std::filesystem::path path = text();
    const OpenOptions how = open_options();
    const std::uint64_t count = number(), fingerprint = number();
    const Dataset& dataset = opened_at(path, how);
    const std::size_t each = dataset.shard_count();
    if (each == 0 || count % each != 0 || count / each > kMostTimes) refuse_keys(path);
    std::uint64_t all = 0;
    for (std::uint64_t number = 0; number < count; ++number) {
      Dataset::Shard shard = dataset.shard(number % each);
      shard.dataset = path;
      all = all * key_hash_power(shard.index.size()) + shard.index.key_hash();
      shards.push_back(std::move(shard));
    }
    if (all != fingerprint) refuse_keys(path);
  }

  void add_blocks(std::vector<Dataset::Shard>& shards, int depth) {
    const Dataset documents = dataset(depth + 1);
    const std::uint64_t length = number();
    const TokenOptions how = options();
    const std::uint64_t fingerprint = number();
    const Dataset blocks = token_blocks(documents, length, how);
    for (std::size_t shard = 0; shard < blocks.shard_count(); ++shard) shards.push_back(blocks.shard(shard));
    if (shards.back().index.key_hash() != fingerprint) refuse_keys(documents.path());
  }

  TokenOptions options() {
    TokenOptions options{.field = text()};
    const std::uint64_t packing = number();
    if (packing > static_cast<std::uint64_t>(TokenPacking::best_fit)) refuse_record("has an unknown packing");
    options.packing = static_cast<TokenPacking>(packing);
    if (number() != 0) {
      options.dtype = dtype_named(text());
      if (!options.dtype) refuse_record("has an unknown dtype");
    }
    if (number() != 0) options.end = integer();
    options.pad = integer();
    options.window = number();
    if (number() != 0) options.shuffle = number();
    const std::uint64_t flags = number();
    options.pad_last = (flags & 1) != 0;
    options.whole = (flags & 2) != 0;
    options.positions = (flags & 4) != 0;
    options.segment_ids = (flags & 8) != 0;
    options.cu_lengths = (flags & 16) != 0;
    return options;
  }

  Dataset chosen(const Dataset& whole) {
    const std::uint64_t samples = whole.first_sample(whole.shard_count()), lists = count();
    if (lists == 0) refuse_record("has no list of samples");
    Dataset::Choice choice{.samples = list(samples)};
    for (std::uint64_t left = lists - 1; left > 0; --left) {
      choice.joined.push_back(list(samples));
      if (choice.joined.back().size() != choice.samples.size()) refuse_record("has lists of different lengths");
    }
    for (std::uint64_t left = count(); left > 0; --left) {
      const std::uint64_t of_field = number();
      if (of_field >= lists) refuse_record("refers to a list that does not exist");
      choice.list_of_field.push_back(static_cast<std::uint32_t>(of_field));
    }
    choice.about = text();
    choice.among = number();
    return Dataset(whole, std::move(choice));
  }

  // Reads a list of numbers below `samples`.
  SampleList list(std::uint64_t samples) {
    const std::uint64_t size = number();
    SampleList runs;
    SampleListBuilder many;
    std::uint64_t end = 0, listed = 0, met = 0;
    while (listed < size) {
      const std::uint64_t first = end + static_cast<std::uint64_t>(integer()), run = number();
      if (first > samples || run == 0 || run > samples - first || run > size - listed)
        refuse_record("refers to samples that do not exist");
      if (++met == kRunsAsSuch) {
        for (std::uint64_t position = 0; position < listed; ++position) many.add(runs[position]);
      }
      if (met < kRunsAsSuch) {
        runs.append(SampleList::range(first, run));
      } else {
        for (std::uint64_t sample = first; sample < first + run; ++sample) many.add(sample);
      }
      end = first + run;
      listed += run;
    }
    return met < kRunsAsSuch ? runs : std::move(many).finish();
  }

  static constexpr std::uint64_t kMostTimes = 1 << 20;

  std::string_view bytes_;
  const OpenRecorded& open_;
  std::uint64_t version_ = kRecordVersion;
  std::map<std::pair<std::filesystem::path, std::string>, Dataset> opened_;  // by path and options
};

}  // namespace

std::string to_record(const Dataset& dataset) {
  bool options = false;
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard)
    options = options || dataset.shard(shard).options != nullptr;
  const std::uint64_t version = options ? kRecordVersion : kWithoutOptions;
  RecordWriter writer(version);
  writer.number(version);
  writer.dataset(dataset);
  return std::string(kMagic) + writer.take();
}

Dataset from_record(std::string_view record, const OpenRecorded& open) {
  if (!record.starts_with(kMagic)) throw Error::corrupt("this is not the record of a dataset");
  RecordReader reader(record.substr(kMagic.size()), open);
  reader.version();
  Dataset dataset = reader.dataset();
  if (!reader.at_end()) refuse_record("has bytes after its end");
  return dataset;
}

bool is_record_file(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string begin(kMagic.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file && begin == kMagic;
}

}  // namespace penstock
