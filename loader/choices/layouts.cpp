#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <base/cores.hpp>
#include <formats/extent.hpp>
#include <formats/extent_reader.hpp>
#include <loader/choices/layouts.hpp>
#include <loader/choices/sample_scan.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kPrefixOfValue = 64 << 10;

// The buffers and decoders that one thread reads layouts with.
class Looker {
 public:
  Looker(const Dataset& dataset, std::uint32_t field) : dataset_(dataset), field_(field), reader_(dataset) {}

  // Returns nothing if the sample has no value.
  std::optional<Layout> layout(std::uint64_t sample) {
    if (!dataset_.locate(sample, field_, pieces_)) return std::nullopt;
    const bool long_extent = pieces_.size() == 1 && pieces_.front().kind == Piece::Kind::extent &&
                             pieces_.front().extent.length > kPrefixOfValue;
    if (long_extent) {
      try {
        return peeked(reader_.beginning(pieces_.front().extent, kPrefixOfValue));
      } catch (const Error& error) {
        if (!error.is_data_fault()) throw;  // the header is longer or the value is invalid: read the whole value
      }
    }
    return peeked(read_field(dataset_, sample, field_));
  }

 private:
  Layout peeked(const std::vector<std::byte>& bytes) {
    const FieldSchema& schema = dataset_.fields()[field_];
    const Codec& codec = codec_for(schema, bytes);
    std::unique_ptr<Decoder>& decoder = decoders_[&codec];
    if (decoder == nullptr) decoder = codec.decoder(schema);
    return decoder->peek({&schema, bytes});
  }

  const Dataset& dataset_;
  std::uint32_t field_;
  std::vector<Piece> pieces_;
  ExtentReader reader_;
  std::map<const Codec*, std::unique_ptr<Decoder>> decoders_;
};

}  // namespace

void for_each_layout(const Dataset& dataset, std::uint32_t field,
                     const std::function<void(std::uint64_t, const Layout&)>& take, const std::function<void()>& tick) {
  const unsigned workers = usable_cores();
  std::vector<std::unique_ptr<Looker>> lookers;
  for (unsigned worker = 0; worker < workers; ++worker) lookers.push_back(std::make_unique<Looker>(dataset, field));
  const auto look = [&](unsigned worker, std::uint64_t sample) {
    try {
      if (const auto layout = lookers[worker]->layout(sample)) take(sample, *layout);
    } catch (const Error& error) {
      throw error.in({.dataset = dataset.path().string(),
                      .key = std::string(dataset.key(sample)),
                      .field = dataset.fields()[field].name});
    }
  };
  scan_samples(dataset.size(), workers, look, tick);
}

}  // namespace penstock
