#include <algorithm>
#include <utility>

#include <loader/sharing/notes.hpp>
#include <order/mixture/mixed_order.hpp>
#include <penstock/error.hpp>

namespace penstock::sharing {
namespace {

constexpr std::uint64_t kMostRows = std::uint64_t{1} << 24U, kMostDimensions = 32, kMostItems = std::uint64_t{1} << 23U,
                        kMostSources = 1 << 20;

[[noreturn]] void refuse(const char* why) {
  throw Error::corrupt(std::string("a message of another process does not fit this loader: ") + why);
}

void write(WireWriter& to, const BadSample& bad) {
  to.text(bad.key);
  to.text(bad.field);
  to.text(bad.cause);
  to.number(bad.sample);
  to.number(bad.epoch);
  to.number(bad.position.has_value() ? 1 : 0);
  to.number(bad.position.value_or(0));
}

BadSample read_bad(WireReader& from) {
  BadSample bad{.key = from.text(), .field = from.text(), .cause = from.text(), .sample = 0, .epoch = 0};
  bad.sample = from.number();
  bad.epoch = from.number();
  const bool has_position = from.flag();
  const std::uint64_t position = from.number();
  if (has_position) bad.position = position;
  return bad;
}

void write(WireWriter& to, const std::optional<MixDraw>& mix) {
  to.number(mix.has_value() ? 1 : 0);
  if (!mix) return;
  to.number(static_cast<std::uint64_t>(mix->kind));
  to.real(mix->lambda);
  for (const std::int64_t edge : {mix->box.x, mix->box.y, mix->box.width, mix->box.height})
    to.number(static_cast<std::uint64_t>(edge));
}

std::optional<MixDraw> read_mix(WireReader& from) {
  if (!from.flag()) return std::nullopt;
  const std::uint64_t kind = from.number();
  if (kind > static_cast<std::uint64_t>(Mix::Kind::cutmix)) refuse("it has an unknown mix");
  MixDraw mix{.kind = static_cast<Mix::Kind>(kind), .lambda = from.real(), .box = {}};
  for (std::int64_t* edge : {&mix.box.x, &mix.box.y, &mix.box.width, &mix.box.height})
    *edge = static_cast<std::int64_t>(from.number());
  return mix;
}

// The values must have a size in bytes that a process can address.
void require_countable(const TensorView& values) {
  constexpr double kAddresses = 0x1p47;
  double bytes = static_cast<double>(size_of(values.dtype));
  for (const std::int64_t size : values.shape) {
    if (size < 0) refuse("it has a negative size");
    bytes *= static_cast<double>(size);
    if (bytes > kAddresses) refuse("its values are too large");
  }
}

void require_rising(std::span<const std::int64_t> offsets, std::uint64_t rows, const Shape& shape) {
  if (offsets.empty()) return;
  if (offsets.size() != rows + 1 || shape.empty() || offsets.front() != 0 || offsets.back() != shape.front() ||
      !std::ranges::is_sorted(offsets))
    refuse("the places of its rows are wrong");
}

template <typename T>
std::vector<T> of_rows(WireReader& from, std::uint64_t rows) {
  std::vector<T> values = from.numbers<T>(rows);
  if (values.size() != rows) refuse("it has another number of rows");
  return values;
}

}  // namespace

std::string Hello::body() const {
  WireWriter to;
  to.number(kVersion);
  to.text(loads);
  to.number(keeps);
  to.number(anywhere ? 1 : 0);
  return to.take();
}

Hello Hello::of(std::string_view body) {
  WireReader from(body);
  if (from.number() != kVersion) throw Error::corrupt("another version of penstock");
  Hello hello{.loads = from.text()};
  hello.keeps = from.number();
  hello.anywhere = from.flag();
  return hello;
}

void write(WireWriter& to, const Position& position) {
  for (const std::uint64_t value :
       {position.seed, position.shuffle_block, position.epoch, position.start, position.batch,
        std::uint64_t{position.composed.batch_size}, std::uint64_t{position.composed.world}})
    to.number(value);
  to.real(position.composed.budget);
  to.number(position.carried != nullptr ? 1 : 0);
  if (position.carried == nullptr) return;
  to.number(position.carried->epoch);
  to.numbers<std::uint64_t>(position.carried->taken);
}

Position read_position(WireReader& from) {
  Position position;
  position.seed = from.number();
  position.shuffle_block = from.number();
  position.epoch = from.number();
  position.start = from.number();
  position.batch = from.number();
  position.composed.batch_size = from.small();
  position.composed.world = from.small();
  position.composed.budget = from.real();
  if (!from.flag()) return position;
  Carried carried{.epoch = from.number(), .taken = {}};
  carried.taken = from.numbers<std::uint64_t>(kMostSources);
  position.carried = std::make_shared<const Carried>(std::move(carried));
  return position;
}

std::string key_of(const Position& position) {
  WireWriter to;
  write(to, position);
  return to.take();
}

void write(WireWriter& to, const Handed& handed) {
  to.number(handed.ask);
  to.number(handed.loan);
  to.number(handed.regions.size());
  for (const Handed::Region& region : handed.regions) {
    to.number(region.number);
    to.number(region.bytes);
  }
  to.numbers<std::uint64_t>(handed.ended);
}

Handed read_handed(WireReader& from) {
  Handed handed{.ask = from.number(), .loan = 0};
  handed.loan = from.number();
  const std::uint64_t regions = from.number();
  if (regions > kMostDescriptors) refuse("it has too much memory");
  for (std::uint64_t i = 0; i < regions; ++i) {
    const std::uint64_t number = from.number();
    handed.regions.push_back({.number = number, .bytes = from.number()});
  }
  handed.ended = from.numbers<std::uint64_t>(kLongestBody);
  return handed;
}

void write(WireWriter& to, const BatchRecord& batch, const std::function<ValuePlace(const Field&)>& place) {
  to.number(batch.rows);
  to.numbers<std::uint64_t>(batch.samples);
  to.numbers<std::uint32_t>(batch.occurrences);
  to.numbers<std::int64_t>(batch.sources);
  to.numbers<std::uint8_t>(batch.valid);
  to.numbers<std::uint8_t>(batch.cleared);
  to.number(batch.present.size());
  for (const PresentRows& marks : batch.present) {
    to.number(marks.output);
    to.numbers<std::uint8_t>(marks.rows);
  }
  write(to, batch.mix);
  to.number(batch.read_bytes);
  to.number(batch.bad.size());
  for (const BadSample& bad : batch.bad) write(to, bad);
  to.number(batch.fields.size());
  for (const Field& field : batch.fields) {
    to.numbers<std::int64_t>(field.values.shape);
    to.numbers<std::int64_t>(field.offsets);
    to.numbers<std::int64_t>(field.shapes);
    const ValuePlace at = place(field);
    to.number(at.region);
    to.number(at.offset);
  }
}

void read_batch(WireReader& from, std::span<const Output> outputs, std::uint64_t samples, const Position& at,
                NotedBatch& batch) {
  batch.seed = at.seed;
  batch.epoch = at.epoch;
  batch.number = at.batch;
  batch.start = at.start;
  batch.shuffle_block = at.shuffle_block;
  batch.carried = at.carried;
  batch.composed = at.composed;
  const std::uint64_t rows = from.number();
  if (rows > kMostRows) refuse("it has too many rows");
  batch.rows = static_cast<std::uint32_t>(rows);
  batch.samples = of_rows<std::uint64_t>(from, rows);
  batch.occurrences = of_rows<std::uint32_t>(from, rows);
  batch.sources = from.numbers<std::int64_t>(rows);
  batch.valid = of_rows<std::uint8_t>(from, rows);
  batch.cleared = of_rows<std::uint8_t>(from, rows);
  for (std::uint64_t marks = from.number(); marks != 0; --marks) {
    const std::uint64_t output = from.number();
    if (output >= outputs.size()) refuse("it has other outputs");
    batch.present.push_back({.output = static_cast<std::uint32_t>(output), .rows = of_rows<std::uint8_t>(from, rows)});
  }
  batch.mix = read_mix(from);
  batch.read_bytes = from.number();
  const std::uint64_t bad = from.number();
  if (bad > rows) refuse("it has too many invalid rows");
  for (std::uint64_t i = 0; i < bad; ++i) batch.bad.push_back(read_bad(from));
  if (std::ranges::any_of(batch.samples, [samples](std::uint64_t sample) { return sample >= samples; }))
    refuse("it has samples that the dataset lacks");
  if (from.number() != outputs.size()) refuse("it has other outputs");
  for (const Output& output : outputs) {
    Field field{.name = output.name, .values = {.data = nullptr, .dtype = output.dtype, .shape = {}}, .offsets = {}};
    const auto shape = from.numbers<std::int64_t>(kMostDimensions);
    field.values.shape.assign(shape.begin(), shape.end());
    require_countable(field.values);
    batch.offsets.push_back(from.numbers<std::int64_t>(kMostRows + 1));
    batch.shapes.push_back(from.numbers<std::int64_t>(kMostItems));
    require_rising(batch.offsets.back(), rows, field.values.shape);
    field.offsets = batch.offsets.back();
    field.shapes = batch.shapes.back();
    batch.fields.push_back(std::move(field));
    const std::uint64_t region = from.number();
    batch.places.push_back({.region = region, .offset = from.number()});
  }
  if (!from.done()) refuse("it is longer than it says");
}

}  // namespace penstock::sharing
