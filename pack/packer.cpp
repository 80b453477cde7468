#include <algorithm>

#include <base/parallel_for.hpp>
#include <formats/io/crc32c.hpp>
#include <pack/packer.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>

namespace penstock {

ValueRecoder::ValueRecoder(const PackedFields& fields, const Recoding& recoding, unsigned workers)
    : fields_(fields), recoding_(recoding), workers_(workers) {
  // The first recoder is created here, so that invalid options throw before any value is read.
  idle_.push_back(std::make_unique<FieldRecoder>(recoding_));
  for (std::uint32_t field = 0; field < fields_.schemas().size(); ++field) {
    if (fields_.stored(field) && recoding_.takes(fields_.source_schema(field))) taken_.push_back(field);
  }
}

void ValueRecoder::run(const Batch& batch) {
  made_.resize(std::max(made_.size(), std::size_t{batch.size()} * taken_.size()));
  parallel_for(std::uint64_t{batch.size()} * taken_.size(), workers_, [&](std::uint64_t number) {
    Made& made = made_[number];
    made.changed = false;
    made.failure = nullptr;
    const auto row = static_cast<std::uint32_t>(number / taken_.size());
    if (batch.valid()[row] == 0) return;
    const std::uint32_t field = taken_[number % taken_.size()];
    const Field& column = batch[fields_.schemas()[field].name];
    const auto begin = static_cast<std::size_t>(column.offsets[row]);
    const auto end = static_cast<std::size_t>(column.offsets[row + 1]);
    recode(field, batch.keys()[row], column.as<std::byte>().subspan(begin, end - begin), made);
  });
}

void ValueRecoder::recode(std::uint32_t field, std::string_view key, std::span<const std::byte> stored, Made& made) {
  std::unique_ptr<FieldRecoder> recoder = take();
  try {
    const std::span<const std::byte> bytes = recoder->recode(fields_.source_schema(field), key, stored);
    made.changed = bytes.data() != stored.data();
    if (made.changed) made.bytes.assign(bytes.begin(), bytes.end());
    if (!recoder->kept_because().empty()) count_kept(recoder->kept_because());
  } catch (...) {
    made.failure = std::current_exception();
  }
  give_back(std::move(recoder));
}

void ValueRecoder::count_kept(std::string_view reason) {
  const std::scoped_lock lock(mutex_);
  ++kept_[std::string(reason)];
}

std::unique_ptr<FieldRecoder> ValueRecoder::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<FieldRecoder> recoder = std::move(idle_.back());
      idle_.pop_back();
      return recoder;
    }
  }
  return std::make_unique<FieldRecoder>(recoding_);
}

void ValueRecoder::give_back(std::unique_ptr<FieldRecoder> recoder) {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(recoder));
}

std::optional<std::span<const std::byte>> ValueRecoder::value(std::uint32_t field, std::uint32_t row) const {
  const auto taken = std::ranges::find(taken_, field);
  if (taken == taken_.end()) return std::nullopt;
  const Made& made = made_[std::size_t{row} * taken_.size() + static_cast<std::size_t>(taken - taken_.begin())];
  if (made.failure != nullptr) std::rethrow_exception(made.failure);
  if (!made.changed) return std::nullopt;
  return made.bytes;
}

Packer::Packer(const Dataset& source, const PackedFields& fields, const Share& share, std::uint64_t position,
               DatasetWriter& writer, bool skip_bad, ValueRecoder* recoder)
    : source_(source),
      fields_(fields),
      share_(share),
      next_shard_(static_cast<std::size_t>(std::lower_bound(share.begins.begin(), share.begins.end(), position) -
                                           share.begins.begin())),
      position_(position),
      writer_(writer),
      skip_bad_(skip_bad),
      recoder_(recoder),
      made_(fields.schemas().size()) {
  if (next_shard_ != 0) writer_.begin_shard(share_.first_shard + next_shard_ - 1);
}

void Packer::add(const Batch& batch) {
  if (recoder_ != nullptr) recoder_->run(batch);
  auto bad = batch.bad().begin();
  for (std::uint32_t row = 0; row < batch.size(); ++row, ++position_) {
    begin_planned_shard();
    if (batch.valid()[row] == 0) {
      skip(*bad++);
      continue;
    }
    try {
      take_apart(batch, row);
    } catch (const Error& error) {
      if (!skip_bad_ || !error.is_data_fault()) throw;
      const ErrorContext& where = error.context();
      skip({where.key, where.field, error.cause(), batch.samples()[row], batch.epoch()});
      continue;
    }
    writer_.add(source_.key(batch.samples()[row]), values_);
    ++samples_;
  }
}

void Packer::begin_planned_shard() {
  if (next_shard_ == share_.begins.size() || share_.begins[next_shard_] != position_) return;
  writer_.begin_shard(share_.first_shard + next_shard_);
  ++next_shard_;
}

void Packer::skip(const BadSample& bad) {
  constexpr std::size_t kListed = 1000;
  writer_.skip({bad.sample, bad.key, bad.field, bad.cause});
  if (bad_.size() < kListed) bad_.push_back(bad);
}

void Packer::take_apart(const Batch& batch, std::uint32_t row) {
  const std::uint64_t sample = batch.samples()[row];
  values_.clear();
  headers_.clear();
  headers_.reserve(fields_.schemas().size());  // values_ keeps spans of its elements, so it must not reallocate
  for (std::uint32_t i = 0; i < fields_.schemas().size(); ++i) {
    try {
      const auto bytes = value(batch, row, sample, i);
      if (bytes) add_value(i, *bytes);
    } catch (const Error& error) {
      throw error.in({.dataset = source_.path().string(),
                      .key = std::string(source_.key(sample)),
                      .field = fields_.schemas()[i].name});
    }
  }
}

std::optional<std::span<const std::byte>> Packer::value(const Batch& batch, std::uint32_t row, std::uint64_t sample,
                                                        std::uint32_t number) {
  const std::optional<std::uint32_t> stored = fields_.stored(number);
  if (!stored) return fields_.label(sample);
  if (!source_.locate(sample, *stored, pieces_)) return std::nullopt;
  const Field& column = batch[fields_.schemas()[number].name];
  const auto begin = static_cast<std::size_t>(column.offsets[row]);
  const auto end = static_cast<std::size_t>(column.offsets[row + 1]);
  const std::span<const std::byte> bytes = column.as<std::byte>().subspan(begin, end - begin);
  if (recoder_ != nullptr) {
    if (const auto made = recoder_->value(number, row)) return made;
  }
  if (!fields_.converts(number)) return fields_.renumbered(number, bytes, made_[number]);
  return arrays_.convert(fields_.source_schema(number), fields_.schemas()[number], bytes, made_[number]);
}

void Packer::add_value(std::uint32_t number, std::span<const std::byte> bytes) {
  const Codec* codec = codec_named(fields_.schemas()[number].codec);
  headers_.emplace_back();
  try {
    if (codec != nullptr) headers_.back() = codec->header(bytes);
  } catch (const Error& error) {
    // Values that cannot be decoded are copied like others. Without a header, they are read whole.
    if (!error.is_data_fault()) throw;
  }
  values_.push_back({number, bytes, crc32c(bytes), headers_.back()});
}

}  // namespace penstock
