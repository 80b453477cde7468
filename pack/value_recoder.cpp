#include <algorithm>

#include <base/parallel_for.hpp>
#include <pack/value_recoder.hpp>

namespace penstock {

ValueRecoder::ValueRecoder(const PackedFields& fields, const Recoding& recoding, unsigned workers)
    : fields_(fields), recoding_(recoding), workers_(workers) {
  idle_.push_back(std::make_unique<FieldRecoder>(recoding_));  // fails here, before anything is read
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

}  // namespace penstock
