#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>

#include <penstock/base/cores.hpp>
#include <penstock/base/error.hpp>
#include <penstock/base/parallel_for.hpp>
#include <penstock/formats/io/descriptor.hpp>
#include <penstock/formats/io/file_identity.hpp>
#include <penstock/loader/choices/layouts.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kPrefixOfValue = 64 << 10;

// What one thread looks at values with.
class Looker {
 public:
  Looker(const Dataset& dataset, std::uint32_t field) : dataset_(dataset), field_(field) {}

  // Nothing where the sample has no value.
  std::optional<Layout> layout(std::uint64_t sample) {
    if (!dataset_.locate(sample, field_, pieces_)) return std::nullopt;
    const bool long_extent = pieces_.size() == 1 && pieces_.front().kind == Piece::Kind::extent &&
                             pieces_.front().extent.length > kPrefixOfValue;
    if (long_extent) {
      try {
        return peeked(prefix(pieces_.front().extent));
      } catch (const Error& error) {
        if (!error.is_data_fault()) throw;  // the header is longer, or the value broken: the whole of it tells
      }
    }
    try {
      return peeked(read_field(dataset_, sample, field_));
    } catch (const Error& error) {
      throw error.in({.dataset = dataset_.path().string(),
                      .key = std::string(dataset_.key(sample)),
                      .field = dataset_.fields()[field_].name});
    }
  }

 private:
  std::vector<std::byte> prefix(const Extent& extent) {
    const std::filesystem::path path = dataset_.file(extent.file).path;
    if (!file_ || file_->first != extent.file) {
      file_.emplace(extent.file, Descriptor::open(path, O_RDONLY));
      dataset_.require_unchanged(extent.file, identity_of(file_->second.get(), path));
      ::posix_fadvise(file_->second.get(), 0, 0, POSIX_FADV_RANDOM);
    }
    std::vector<std::byte> bytes(kPrefixOfValue);
    bytes.resize(read_at(file_->second.get(), bytes, extent.offset, path));
    return bytes;
  }

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
  std::optional<std::pair<std::uint32_t, Descriptor>> file_;
  std::map<const Codec*, std::unique_ptr<Decoder>> decoders_;
};

}  // namespace

void for_each_layout(const Dataset& dataset, std::uint32_t field,
                     const std::function<void(std::uint64_t, const Layout&)>& take, const std::function<void()>& tick) {
  const std::uint64_t groups = (dataset.size() + kLayoutsAtOnce - 1) / kLayoutsAtOnce;
  const unsigned workers = usable_cores();
  std::vector<std::unique_ptr<Looker>> lookers;
  for (unsigned worker = 0; worker < workers; ++worker) lookers.push_back(std::make_unique<Looker>(dataset, field));
  std::mutex mutex;  // guards the two below
  std::uint64_t first_bad = dataset.size();
  std::optional<Error> fault;
  parallel_for(
      groups, workers,
      [&](unsigned worker, std::uint64_t group, const std::stop_token& stop) {
        const std::uint64_t end = std::min(dataset.size(), (group + 1) * kLayoutsAtOnce);
        for (std::uint64_t sample = group * kLayoutsAtOnce; sample < end && !stop.stop_requested(); ++sample) {
          try {
            if (const auto layout = lookers[worker]->layout(sample)) take(sample, *layout);
          } catch (const Error& error) {
            if (!error.is_data_fault()) throw;
            const std::lock_guard lock(mutex);
            if (sample < first_bad) {
              first_bad = sample;
              fault = error.in({.dataset = dataset.path().string(),
                                .key = std::string(dataset.key(sample)),
                                .field = dataset.fields()[field].name});
            }
            return;
          }
        }
      },
      [&] {
        if (tick) tick();
        return true;
      });
  if (fault) throw *fault;
}

}  // namespace penstock
