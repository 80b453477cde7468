#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include <formats/dataset.hpp>
#include <formats/error_location.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <loader/work/insist.hpp>
#include <loader/work/read_now.hpp>
#include <loader/work/row_filler.hpp>

namespace penstock {

RowFiller::RowFiller(const FetchFrom& from, ReadEngine& direct, BlockCache& blocks, SampleCache& cache,
                     std::uint64_t max_items, WorkLog* log, ReadRecord* reads, Parallel* parallel)
    : from_(from),
      dataset_(from.dataset),
      program_(from.program),
      direct_(direct),
      max_items_(max_items),
      log_(log),
      reads_(reads),
      specials_(from.dataset, direct, blocks, reads, parallel),
      filler_(from.program, parallel),
      keeper_(from.program, cache, parallel) {}

void RowFiller::read_and_fill(const SampleContext& sample, RowSlots& slots) {
  name_sample(sample, [&] { plan_and_read(sample, slots); });
  fill(sample, fetch_, buffer_.data(), slots, nullptr);
}

void RowFiller::plan_and_read(const SampleContext& sample, RowSlots& slots) {
  const auto bring_in = [&] {
    fetch_.plan(from_, sample, slots);
    buffer_.reserve(fetch_.bytes() + kOverread);
    read(fetch_, buffer_.data());
  };
  insist(bring_in, [&] { return !reads_store(fetch_); });
}

bool RowFiller::reads_store(const Fetch& fetch) const {
  return std::ranges::any_of(
      fetch.reads(), [&](const Fetch::Read& read) { return dataset_.stored_object(read.extent.file) != nullptr; });
}

void RowFiller::require_another_try(const SampleContext& sample, const RowTask& task, std::uint32_t index) const {
  name_sample(sample, [&] {
    try {
      std::rethrow_exception(task.failures[index]);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io && reads_store(task.fetches[index])) throw;
    } catch (const std::exception&) {  // memory may be available by now
    }
  });
}

template <typename Work>
void RowFiller::name_sample(const SampleContext& sample, Work work) const {
  try {
    work();
  } catch (const Error& error) {
    const std::size_t shard = dataset_.shard_of(sample.sample);
    throw error.in({.dataset = dataset_.path_of_shard(shard).string(),
                    .shard = dataset_.shard(shard).name,
                    .key = std::string(sample.key)});
  }
}

void RowFiller::fill_ahead(const SampleContext& sample, const RowTask& task, std::uint32_t index, RowSlots& slots) {
  fill(sample, task.fetches[index], task.buffer + task.begins[index], slots, &task);
}

void RowFiller::read(const Fetch& fetch, std::byte* buffer) {
  if (fetch.reads().empty()) return;
  const ReadTime time(log_, read_time_);
  pending_.resize(fetch.reads().size());
  sums_.assign(fetch.reads().size(), {});
  requests_.clear();
  for (std::size_t i = 0; i < fetch.reads().size(); ++i) {
    const Fetch::Read& read = fetch.reads()[i];
    pending_[i] = {};
    requests_.push_back({.extent = read.extent,
                         .destination = read.place.in(buffer),
                         .tag = PendingRead::tag(pending_[i]),
                         .streamed = read.place.slot != nullptr && from_.streams,
                         .sum = read.summed ? &sums_[i] : nullptr});
  }
  submit(requests_);
}

void RowFiller::submit(std::span<const ReadRequest> requests) {
  if (requests.empty()) return;
  std::uint64_t bytes = 0;
  for (const ReadRequest& request : requests) bytes += request.extent.length;
  asked_ += bytes;
  read_now(direct_, requests, bytes, reads_);
  for (const PendingRead& read : pending_) {
    if (read.failure != nullptr) std::rethrow_exception(read.failure);
  }
}

void RowFiller::fill(const SampleContext& sample, const Fetch& fetch, std::byte* buffer, RowSlots& slots,
                     const RowTask* ahead) {
  check_in(sample, fetch, buffer, ahead);
  filler_.begin(sample);
  for (const std::uint32_t output : program_.order()) fill_from(sample, fetch, buffer, output, slots);
}

// Adds the bytes that the buffer still lacks, and checks them.
void RowFiller::check_in(const SampleContext& sample, const Fetch& fetch, std::byte* buffer, const RowTask* ahead) {
  stored_ = fetch.stored_bytes();
  hits_ += fetch.hits();
  misses_ += fetch.misses();
  name_sample(sample, [&] {
    read_specials(fetch, buffer, ahead);
    if (from_.checks != nullptr) check(sample.sample, fetch, buffer, ahead == nullptr);
  });
}

void RowFiller::fill_from(const SampleContext& sample, const Fetch& fetch, const std::byte* buffer,
                          std::uint32_t output, RowSlots& slots) {
  const FieldFetch* field = fetch.of(output);
  slots.mark_present(output, !fetch.is_missing(output));
  if (fetch.is_missing(output)) {
    if (slots.buffered[output] != nullptr) slots.buffered[output]->clear();
    if (output < slots.shapes.size()) std::ranges::fill(slots.shapes[output], 0);
    return filler_.fill_missing(output, slots.places[output]);
  }
  if (field == nullptr)  // the row is the stored bytes, already in its slot
    return keeper_.row(sample.sample, output, fetch.field_of(output), slots.places[output]);
  const FieldBytes read{&dataset_.fields()[field->field],
                        {buffer + field->begin, static_cast<std::size_t>(field->selected)},
                        field->ranges};
  try {
    if (slots.offload != nullptr && slots.offload->take_value(output, slots.row, sample, read, filler_)) return;
    fill_output(output, keeper_.value(sample.sample, output, *field, read), slots);
    keeper_.row(sample.sample, output, field->field, slots.places[output]);
  } catch (const Error& error) {
    throw error.in(error_location(dataset_, sample.sample, field->field));
  }
}

void RowFiller::bring(const SampleContext& sample, RowSlots& slots) {
  brought_ = nullptr;
  name_sample(sample, [&] { plan_and_read(sample, slots); });
  check_in(sample, fetch_, buffer_.data(), nullptr);
  brought_ = &fetch_;
  bytes_brought_ = buffer_.data();
}

void RowFiller::bring_ahead(const SampleContext& sample, const RowTask& task, std::uint32_t index) {
  brought_ = nullptr;
  check_in(sample, task.fetches[index], task.buffer + task.begins[index], &task);
  brought_ = &task.fetches[index];
  bytes_brought_ = task.buffer + task.begins[index];
}

void RowFiller::fill_place(const SampleContext& sample, std::uint32_t window, RowSlots& slots) {
  filler_.begin(sample);
  for (const std::uint32_t output : program_.order()) {
    if (program_.outputs()[output].window != window || slots.leaves_out(output)) continue;
    fill_from(sample, *brought_, bytes_brought_, output, slots);
  }
}

void RowFiller::fill_again(const SampleContext& sample, std::uint32_t window, const RowSlots& first, RowSlots& slots) {
  filler_.begin(sample);
  for (const std::uint32_t output : program_.order()) {
    const Output& described = program_.outputs()[output];
    if (described.window != window || slots.leaves_out(output)) continue;
    if (described.drawn) {
      fill_from(sample, *brought_, bytes_brought_, output, slots);
      continue;
    }
    slots.mark_present(output, !brought_->is_missing(output));
    if (!slots.places[output].empty()) {
      std::memcpy(slots.places[output].data(), first.places[output].data(), slots.places[output].size());
    }
  }
}

void RowFiller::read_specials(const Fetch& fetch, std::byte* buffer, const RowTask* ahead) {
  const auto reads = [](const Fetch::Special& special) { return special.piece.kind == Piece::Kind::block; };
  std::optional<ReadTime> time;
  if (std::ranges::any_of(fetch.specials(), reads)) time.emplace(log_, read_time_);
  specials_.read(fetch, buffer, ahead);
}

void RowFiller::fill_output(std::uint32_t output, const FieldBytes& bytes, RowSlots& slots) {
  if (slots.buffered[output] == nullptr) return filler_.fill(output, bytes, slots.places[output]);
  const std::uint64_t items = filler_.items(output, bytes);
  if (max_items_ != 0 && items > max_items_) {
    throw Error::resource("the sample has " + std::to_string(items) +
                          " items, more than max_items = " + std::to_string(max_items_));
  }
  slots.buffered[output]->resize(items * program_.outputs()[output].row_bytes());
  if (output < slots.shapes.size() && !slots.shapes[output].empty())
    std::ranges::copy(filler_.row_shape(output), slots.shapes[output].begin());
  filler_.fill(output, bytes, *slots.buffered[output]);
}

// Called before the bytes are decoded or kept. `just_read`: they come from this filler's last read().
void RowFiller::check(std::uint64_t sample, const Fetch& fetch, std::byte* buffer, bool just_read) {
  if (fetch.in_slots().empty() && fetch.fields().empty()) return;
  const ReadTime time(log_, read_time_);
  for (const Fetch::InSlot& value : fetch.in_slots()) {
    if (value.read == Fetch::kOffloaded) {
      from_.checks->count_unchecked(value.bytes.size());
      continue;
    }
    const bool summed = just_read && value.read != Fetch::kSeveral;
    check_value(sample, value.field, value.bytes, summed ? sums_[value.read] : ReadSum{});
  }
  for (const FieldFetch& field : fetch.fields()) {
    if (field.kept) continue;
    std::byte* bytes = buffer + field.begin;
    if (field.ranges.empty()) {
      if (from_.checks->wants(sample, field.field)) check_value(sample, field.field, {bytes, field.length}, {});
    } else if (!field.widened.empty()) {
      check_ranges(sample, field, bytes);
      cut(field, bytes);
    } else if (from_.checks->wants(sample, field.field) && dataset_.range_sums(sample, field.field).size() == 0) {
      from_.checks->count_unchecked(field.length);
    }
  }
}

void RowFiller::check_value(std::uint64_t sample, std::uint32_t field, std::span<std::byte> bytes, const ReadSum& sum) {
  const std::optional<std::uint32_t> recorded = dataset_.crc32c(sample, field);
  if (recorded) {
    require_sum(sample, field, 0, bytes, *recorded, sum.known ? sum.crc32c : crc32c(bytes));
    from_.checks->count_checked(1, bytes.size());
  } else {
    from_.checks->count_unchecked(bytes.size());
  }
  from_.checks->done(sample, field);
}

void RowFiller::check_ranges(std::uint64_t sample, const FieldFetch& fetch, std::byte* bytes) {
  const RangeSums sums = dataset_.range_sums(sample, fetch.field);
  if (sums.size() == 0) return check_value(sample, fetch.field, {bytes, fetch.length}, {});
  const std::uint64_t length = dataset_.length(sample, fetch.field);
  for (const ByteRange& part : fetch.widened) {
    for (std::uint64_t i = (part.begin + RangeSums::kRange - 1) / RangeSums::kRange; i < sums.size(); ++i) {
      const std::uint64_t begin = i * RangeSums::kRange, end = std::min(begin + RangeSums::kRange, length);
      if (end > part.end) break;
      if (!from_.checks->wants_range(sample, fetch.field, sums.first + i)) continue;
      const std::span<std::byte> range(bytes + (begin - part.begin), end - begin);
      require_sum(sample, fetch.field, begin, range, sums[i], crc32c(range));
      from_.checks->count_checked(1, range.size());
      from_.checks->range_done(sums.first + i);
    }
    bytes += part.end - part.begin;
  }
}

// Reduces the bytes that were read to the ranges that the codec selected.
void RowFiller::cut(const FieldFetch& fetch, std::byte* bytes) {
  cut_scratch_.resize(fetch.selected);
  std::uint64_t made = 0, from = 0;
  auto part = fetch.widened.begin();  // both lists ascend, unless the whole value was read
  for (const ByteRange& range : fetch.ranges) {
    if (range.begin == range.end) continue;
    for (; part->end < range.end; ++part) from += part->end - part->begin;
    const std::uint64_t length = range.end - range.begin;
    std::memcpy(cut_scratch_.data() + made, bytes + from + (range.begin - part->begin), length);
    made += length;
  }
  std::memcpy(bytes, cut_scratch_.data(), made);
}

// A mismatch may be an error of a cache or of memory rather than of storage. Reads the bytes again, past the caches,
// and throws only if they differ again.
void RowFiller::require_sum(std::uint64_t sample, std::uint32_t field, std::uint64_t begin, std::span<std::byte> bytes,
                            std::uint32_t recorded, std::uint32_t found) {
  if (found == recorded) return;
  from_.checks->count_mismatch();
  const std::vector<std::byte> again = read_again(dataset_, sample, field, begin, bytes.size());
  if (const std::uint32_t second = crc32c(again); second != recorded)
    throw checksum_error(dataset_, sample, field, begin, recorded, second);
  std::memcpy(bytes.data(), again.data(), bytes.size());
}

}  // namespace penstock
