#include <algorithm>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include <base/cores.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/extent_reader.hpp>
#include <formats/field_types.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/text/npy_header.hpp>
#include <formats/text/numpy_text.hpp>
#include <loader/choices/sample_scan.hpp>
#include <pack/array_rows.hpp>
#include <pack/recoding.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLooked = 1000;  // values, with RowEvidence::some
constexpr std::uint64_t kPrefix = 4096;  // bytes of a value; a header of 32 dimensions has less than 1 KiB

constexpr unsigned kStoreReaders = 16;  // threads, because each waits for a store most of the time

struct Differ {};  // ends a scan

bool have_one_length(const Dataset& source, std::uint32_t field) {
  std::vector<Piece> pieces;
  std::uint64_t present = 0, length = 0;
  for (std::uint64_t sample = 0; sample < source.size(); ++sample) {
    if (!source.locate(sample, field, pieces)) continue;
    const std::uint64_t own = source.length(sample, field);
    if (present++ != 0 && own != length) return false;
    length = own;
  }
  return present != 0 && present >= source.size() - present;
}

// Reads the headers of one field's values. Each thread has its own.
class HeaderReader {
 public:
  HeaderReader(const Dataset& source, std::uint32_t field) : source_(source), field_(field), reader_(source) {}

  /// Returns nothing if the sample lacks the field. Throws Error: corrupt, unsupported, unless the value is a complete
  /// `.npy` array.
  std::optional<NpyHeader> header(std::uint64_t sample) {
    if (!source_.locate(sample, field_, pieces_)) return std::nullopt;
    const NpyHeader header = read_npy_header(beginning(sample));
    const std::uint64_t elements = element_count(header.shape) * size_of(header.dtype);
    const std::uint64_t length = source_.length(sample, field_);
    if (header.data_begin > length || elements > length - header.data_begin) throw Differ();
    return header;
  }

 private:
  std::span<const std::byte> beginning(std::uint64_t sample) {
    if (const auto recorded = source_.header(sample, field_); !recorded.empty()) return recorded;
    if (pieces_.empty()) return {};
    const Piece& first = pieces_.front();
    if (first.kind == Piece::Kind::bytes) return first.inline_bytes;
    // A block of several values would be decompressed for each of them.
    if (first.kind == Piece::Kind::block && source_.block(first.block).decoded_length != first.length) throw Differ();
    scratch_ = first.kind == Piece::Kind::extent ? reader_.beginning(first.extent, kPrefix)
                                                 : read_field(source_, sample, field_);
    return scratch_;
  }

  const Dataset& source_;
  const std::uint32_t field_;
  ExtentReader reader_;
  std::vector<Piece> pieces_;
  std::vector<std::byte> scratch_;
};

}  // namespace

std::optional<FieldSchema> schema_of_rows(const Dataset& source, std::uint32_t field, std::size_t most_dimensions,
                                          RowEvidence evidence, const std::function<void()>& tick) {
  if (!have_one_length(source, field)) return std::nullopt;
  const std::uint64_t looked = evidence == RowEvidence::all ? source.size() : std::min(source.size(), kLooked);
  const unsigned workers = source.in_store() ? std::max(kStoreReaders, usable_cores()) : usable_cores();
  std::vector<HeaderReader> readers;
  for (unsigned worker = 0; worker < workers; ++worker) readers.emplace_back(source, field);
  std::mutex mutex;  // guards `rows`
  std::optional<FieldSchema> rows;
  const auto look = [&](unsigned worker, std::uint64_t number) {
    const auto header = readers[worker].header(number * source.size() / looked);
    if (!header) return;
    const std::lock_guard lock(mutex);
    if (!rows) {
      const std::string& name = source.fields()[field].name;
      rows = {.name = name, .codec = "raw", .dtype = header->dtype, .shape = header->shape, .fixed = true};
    }
    if (rows->dtype != header->dtype || rows->shape != header->shape) throw Differ();
  };
  try {
    scan_samples(looked, workers, look, tick);
  } catch (const Differ&) {
    return std::nullopt;
  } catch (const Error& error) {
    if (!error.is_data_fault()) throw;
    return std::nullopt;
  }
  if (!rows || rows->shape.size() > most_dimensions || element_count(rows->shape) == 0) return std::nullopt;
  return rows;
}

std::span<const std::byte> ArrayConverter::convert(const FieldSchema& from, const FieldSchema& to,
                                                   std::span<const std::byte> value, std::vector<std::byte>& made) {
  reader_.read(from, value, read_);
  const Layout& layout = read_.layout;
  if (!is_row(to)) {
    const std::string header = npy_header_text(layout.dtype, layout.shape);
    const auto bytes = std::as_bytes(std::span(header));
    made.assign(bytes.begin(), bytes.end());
    made.insert(made.end(), read_.elements.begin(), read_.elements.end());
    return made;
  }
  if (layout.image || layout.dtype != to.dtype || layout.shape != to.shape) {
    throw Error::invalid_argument("is " + array_text(layout.dtype, layout.shape) +
                                  ", but all values seen before packing are " + array_text(to.dtype, to.shape) +
                                  ": the source has changed, or ranks pack it, which look at 1,000 values; pack " +
                                  "without rank and world, which looks at every value");
  }
  made.swap(read_.elements);
  return made;
}

bool is_npy(const FieldSchema& schema, std::span<const std::byte> value) {
  return codec_traits(recognised(schema, value).codec).array_file;
}

std::vector<std::string> arrays_of(const Dataset& dataset) {
  if (!dataset.packed()) return {};
  try {
    const auto made = nlohmann::json::parse(Manifest::from_json(dataset.attributes()).made_with);
    return made.value(kArraysMember, std::vector<std::string>());
  } catch (const nlohmann::json::exception&) {
    throw Error::corrupt("penstock.json has an unknown record of arrays", {.dataset = dataset.path().string()});
  }
}

}  // namespace penstock
