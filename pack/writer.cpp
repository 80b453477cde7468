#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <unistd.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/temporary_place.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <formats/places/store_destination.hpp>
#include <pack/key_table.hpp>
#include <pack/sample_spill.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <penstock/pack.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kMostSamples = std::numeric_limits<std::uint32_t>::max();

const Format& checked_format(const fs::path& destination, const ConvertOptions& options) {
  if (options.resume)
    throw Error::invalid_argument(
        "a writer cannot resume, because its earlier samples are gone; resume requires files as the source");
  if (options.world != 0)
    throw Error::invalid_argument("a writer cannot pack one rank's part; it packs all of its samples");
  if (options.align == 0 || (options.align & (options.align - 1)) != 0)
    throw Error::invalid_argument("align must be a power of two, not " + std::to_string(options.align));
  DatasetWriter::require_free(destination, options.format, options.overwrite);
  return *format_named(options.format);
}

fs::path spool_folder(const fs::path& destination, const fs::path& asked) {
  if (!asked.empty()) return asked;
  if (store_destination(destination)) return temporary_place();
  const fs::path named = destination.has_filename() ? destination : destination.parent_path();
  return named.has_parent_path() ? named.parent_path() : fs::path(".");
}

void require_key(std::string_view key) {
  if (key.empty() || key.ends_with('/') || key.find('\0') != std::string_view::npos)
    throw Error::invalid_argument("a key must not be empty, end with a slash or contain NUL");
}

void require_field(std::string_view key, const std::string& field, const Format& format) {
  const bool possible = !field.empty() && field != "." && !field.starts_with("__") &&
                        field.find('/') == std::string::npos && field.find('\0') == std::string::npos;
  if (!possible) {
    throw Error::invalid_argument(
        "a field's name must not be empty or a dot, begin with two underscores, or contain a slash or NUL",
        {.field = field});
  }
  if (format.longest_name != 0 && key.size() + 1 + field.size() > format.longest_name) {
    throw Error::invalid_argument("key and field are together longer than the " + std::to_string(format.longest_name) +
                                      " bytes that " + std::string(format.name) + " can store",
                                  {.field = field});
  }
}

// A field before it is added to the index. File fields have a path, fields given as bytes have a checksum.
struct Prepared {
  FieldSchema schema;
  std::uint64_t length = 0;
  std::optional<std::uint32_t> crc = std::nullopt;
  std::string path = {};
};

Prepared prepared(const WriterValue& value, std::string_view key, const Format& format) {
  Prepared field{.schema = field_from_extension(value.field)};
  require_field(key, field.schema.name, format);
  const ErrorContext where{.field = field.schema.name};
  if (value.file.empty()) {
    field.length = value.bytes.size();
    field.crc = crc32c(value.bytes);
    // Reports a corrupt header here, because the program still knows the origin of the value.
    try {
      if (const Codec* codec = codec_named(field.schema.codec)) codec->header(value.bytes);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw error.in(where);
    }
    return field;
  }
  std::error_code failure;
  const fs::path path = fs::absolute(value.file, failure);
  if (!failure && !fs::is_regular_file(path, failure) && !failure)
    throw Error::invalid_argument("not a regular file: " + path.string(), where);
  if (!failure) field.length = fs::file_size(path, failure);
  if (failure) throw Error::invalid_argument("cannot read " + path.string() + ": " + failure.message(), where);
  field.path = path.string();
  return field;
}

void require_different(std::span<const Prepared> fields) {
  std::set<std::string_view> names;
  for (const Prepared& field : fields) {
    if (!names.insert(field.schema.name).second)
      throw Error::invalid_argument("the sample has this field twice", {.field = field.schema.name});
  }
}

}  // namespace

struct Writer::State {
  State(fs::path path, WriterOptions asked)
      : destination(std::move(path)),
        options(std::move(asked)),
        format(checked_format(destination, options.pack)),
        spill(spool_folder(destination, options.spool)) {
    builder.add_file({.path = spill.path().string(), .size = 0, .stamp = 0});  // file 0, which grows
  }

  const fs::path destination;
  const WriterOptions options;
  const Format& format;
  const pid_t process = ::getpid();
  SampleSpill spill;
  std::atomic<std::uint64_t> samples{0}, bytes{0};  // progress counters; they order no other data

  std::mutex mutex;  // guards the members below
  IndexBuilder builder;
  KeyTable keys{[this](std::uint32_t number) { return builder.key(number); }};
  bool over = false;
  std::exception_ptr failure;

  void require_usable() const;
  void add(std::string_view key, std::span<const WriterValue> values);
  std::uint64_t spooled(std::span<const WriterValue> values);
  void record(std::string_view key, std::span<const Prepared> fields, std::uint64_t offset);
  Dataset gathered();
};

void Writer::State::require_usable() const {
  if (process != ::getpid()) throw Error::invalid_argument("a writer cannot be used in a forked process");
  if (failure) std::rethrow_exception(failure);
  if (over) throw Error::invalid_argument("the dataset is finished, or writing it failed");
}

void Writer::State::add(std::string_view key, std::span<const WriterValue> values) {
  {
    const std::lock_guard lock(mutex);
    require_usable();
    if (keys.contains(key)) throw Error::invalid_argument("two samples have this key");
  }
  require_key(key);
  if (values.empty()) throw Error::invalid_argument("the sample has no fields");
  std::vector<Prepared> fields;
  fields.reserve(values.size());
  for (const WriterValue& value : values) fields.push_back(prepared(value, key, format));
  require_different(fields);
  record(key, fields, spooled(values));
}

// Writes the values given as bytes to the spool file. Returns the offset of the first.
std::uint64_t Writer::State::spooled(std::span<const WriterValue> values) {
  std::vector<std::span<const std::byte>> parts;
  for (const WriterValue& value : values) {
    if (value.file.empty()) parts.push_back(value.bytes);
  }
  try {
    return spill.append(parts);
  } catch (const Error&) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    throw;
  }
}

void Writer::State::record(std::string_view key, std::span<const Prepared> fields, std::uint64_t offset) {
  const std::lock_guard lock(mutex);
  require_usable();
  // Another thread may have added the key since the first check.
  if (keys.contains(key)) throw Error::invalid_argument("two samples have this key");
  if (builder.size() >= kMostSamples - 1) throw Error::resource("a dataset must have fewer than 4294967294 samples");
  const auto number = static_cast<std::uint32_t>(builder.size());
  builder.add_sample(key);
  keys.insert(key, number);
  for (const Prepared& field : fields) {
    Extent extent{.file = 0, .offset = offset, .length = field.length};
    if (field.path.empty()) {
      offset += field.length;
    } else {
      extent = {builder.add_file({.path = field.path, .size = field.length, .stamp = 0}), 0, field.length};
    }
    builder.set(builder.field(field.schema), extent, field.crc);
    bytes.fetch_add(field.length, std::memory_order_relaxed);
  }
  samples.fetch_add(1, std::memory_order_relaxed);
}

// Returns the added samples as a dataset in key order.
Dataset Writer::State::gathered() {
  const std::lock_guard lock(mutex);
  require_usable();
  over = true;
  keys = KeyTable({});
  builder.set_file_size(0, spill.size());
  builder.sort();
  std::vector<Dataset::Shard> shards;
  shards.push_back({.index = std::move(builder).finish(), .root = "/", .name = "samples"});
  return {destination, "samples", std::move(shards), options.classes, false};
}

Writer::Writer(fs::path destination, WriterOptions options)
    : state_(std::make_unique<State>(std::move(destination), std::move(options))) {}

Writer::~Writer() = default;

void Writer::add(std::string_view key, std::span<const WriterValue> fields) {
  try {
    state_->add(key, fields);
  } catch (const Error& error) {
    throw error.in({.dataset = state_->destination.string(), .key = std::string(key)});
  }
}

std::uint64_t Writer::samples() const {
  return state_->samples.load(std::memory_order_relaxed);
}

std::uint64_t Writer::bytes() const {
  return state_->bytes.load(std::memory_order_relaxed);
}

ConvertResult Writer::finish(const std::function<bool(const ConvertProgress&)>& progress) {
  State& state = *state_;
  try {
    const Dataset dataset = state.gathered();
    DatasetWriter::require_free(state.destination, state.options.pack.format, state.options.pack.overwrite);
    ConvertOptions options = state.options.pack;
    options.keep_unfinished = false;
    if (options.spool.empty()) options.spool = state.options.spool;
    return convert(dataset, state.destination, options, progress);
  } catch (const Error& error) {
    throw error.in({.dataset = state.destination.string()});
  }
}

}  // namespace penstock
