#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <base/numbers/decimal.hpp>
#include <base/parallel_for.hpp>
#include <base/printable.hpp>
#include <formats/column.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/field_types.hpp>
#include <loader/choices/layouts.hpp>
#include <loader/choices/values.hpp>
#include <order/buckets/length_table.hpp>
#include <penstock/error.hpp>
#include <penstock/sampling.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLengthsAtOnce = 1 << 16;

enum class Measure { bytes, pixels, height, width, shape };

struct MeasureName {
  std::string_view name;
  Measure measure;
};
constexpr auto kMeasures = std::to_array<MeasureName>({{"bytes", Measure::bytes},
                                                       {"pixels", Measure::pixels},
                                                       {"height", Measure::height},
                                                       {"width", Measure::width},
                                                       {"shape", Measure::shape}});

void require_length(double length, const ErrorContext& where, const std::string& whose) {
  if (length >= 0 && std::isfinite(length)) return;
  throw Error::invalid_argument(whose + (std::isnan(length) ? " is not a number" : " is " + shortest_decimal(length)) +
                                    "; a length must be a number of 0 or more",
                                where);
}

// Reads lengths from the index; `unit` bytes count as one.
void measure_stored(const Dataset& dataset, std::uint32_t field, std::uint64_t unit, LengthTable& lengths,
                    const std::function<void()>& tick) {
  const bool all = dataset.complete(field);
  parallel_for((dataset.size() + kLengthsAtOnce - 1) / kLengthsAtOnce, 0,
               [&](unsigned, std::uint64_t group, const std::stop_token& stop) {
                 std::vector<Piece> pieces;
                 const std::uint64_t end = std::min(dataset.size(), (group + 1) * kLengthsAtOnce);
                 for (std::uint64_t sample = group * kLengthsAtOnce; sample < end && !stop.stop_requested(); ++sample) {
                   if (all || dataset.locate(sample, field, pieces))
                     lengths.set(sample, static_cast<double>(dataset.length(sample, field) / unit));
                 }
               },
               [&] {
                 if (tick) tick();
                 return true;
               });
}

double measured(Measure measure, const Layout& layout) {
  if (!layout.image) throw Error::unsupported("is not an image, so it has no sides");
  const auto height = static_cast<double>(layout.shape[0]), width = static_cast<double>(layout.shape[1]);
  switch (measure) {
    case Measure::height:
      return height;
    case Measure::width:
      return width;
    case Measure::shape:
      return height * 0x1p26 + width;
    case Measure::pixels:
    case Measure::bytes:
      break;
  }
  return height * width;
}

void measure_images(const Dataset& dataset, std::uint32_t field, Measure measure, LengthTable& lengths,
                    const std::function<void()>& tick) {
  for_each_layout(
      dataset, field,
      [&](std::uint64_t sample, const Layout& layout) { lengths.set(sample, measured(measure, layout)); }, tick);
}

void measure_elements(const Dataset& dataset, std::uint32_t field, LengthTable& lengths,
                      const std::function<void()>& tick) {
  for_each_layout(
      dataset, field,
      [&](std::uint64_t sample, const Layout& layout) {
        lengths.set(sample, static_cast<double>(element_count(layout.shape)));
      },
      tick);
}

void measure_numbers(const Dataset& dataset, std::string_view column, LengthTable& lengths,
                     const std::function<void()>& tick) {
  const Column read(dataset, column);
  const std::uint32_t field = read.field();
  for_each_sample(
      dataset, {&field, 1},
      [&](const SampleValues& sample) {
        if (!sample.values[0]) return;
        const double length = read.number(sample, 0);
        require_length(
            length, {.dataset = dataset.path().string(), .key = std::string(sample.key), .field = std::string(column)},
            "the number");
        lengths.set(sample.sample, length);
      },
      tick);
}

// Parses a text such as "pixels:jpg" into the measure and the field.
std::optional<std::pair<Measure, std::string_view>> measure_in(const Dataset& dataset, std::string_view by) {
  const std::size_t colon = by.find(':');
  if (colon == std::string_view::npos || dataset.field(by)) return std::nullopt;
  const auto known = std::ranges::find(kMeasures, by.substr(0, colon), &MeasureName::name);
  if (known == kMeasures.end()) return std::nullopt;
  return std::pair(known->measure, by.substr(colon + 1));
}

void measure(const Dataset& dataset, std::string_view by, const BucketOptions& options, LengthTable& lengths,
             const std::function<void()>& tick) {
  if (const auto asked = measure_in(dataset, by)) {
    const std::uint32_t field = field_named(dataset, asked->second);
    if (asked->first == Measure::bytes) return measure_stored(dataset, field, 1, lengths, tick);
    if (asked->first == Measure::shape && options.budget != 0)
      throw Error::invalid_argument("budget cannot be combined with shapes, which are not lengths; pass \"pixels:" +
                                        one_line(asked->second) + "\"",
                                    {.dataset = dataset.path().string()});
    return measure_images(dataset, field, asked->first, lengths, tick);
  }
  const auto field = dataset.field(by);
  if (!field && by.find(':') != std::string_view::npos) return measure_numbers(dataset, by, lengths, tick);
  const FieldSchema& schema = dataset.fields()[field ? *field : field_named(dataset, by)];
  require_one_type(schema);
  const EncodingTraits& traits = codec_traits(schema.codec);
  if (traits.array_file) return measure_elements(dataset, *field, lengths, tick);
  if (traits.elements && schema.fixed && element_count(schema.shape) == 1)
    return measure_numbers(dataset, by, lengths, tick);
  measure_stored(dataset, *field, traits.elements ? size_of(schema.dtype) : 1, lengths, tick);
}

void require_sound(const BucketOptions& options) {
  if (options.window == 0) throw Error::invalid_argument("pool must be at least 1");
  if (!(options.budget >= 0) || !std::isfinite(options.budget))
    throw Error::invalid_argument("budget must be a number above 0");
}

std::shared_ptr<const LengthBuckets> finished(std::string by, std::unique_ptr<LengthTable> lengths,
                                              const BucketOptions& options) {
  lengths->finish();
  return std::make_shared<const LengthBuckets>(LengthBuckets{
      .by = std::move(by), .lengths = std::move(lengths), .window = options.window, .budget = options.budget});
}

}  // namespace

std::shared_ptr<const LengthBuckets> bucket_by(const Dataset& dataset, std::string_view by,
                                               const BucketOptions& options, const std::function<void()>& tick) {
  require_sound(options);
  auto lengths = std::make_unique<LengthTable>(dataset.size());
  measure(dataset, by, options, *lengths, tick);
  return finished(std::string(by), std::move(lengths), options);
}

std::shared_ptr<const LengthBuckets> bucket_by(std::span<const double> lengths, const BucketOptions& options) {
  require_sound(options);
  auto table = std::make_unique<LengthTable>(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    require_length(lengths[i], {}, "lengths: the length of sample " + std::to_string(i));
    table->set(i, lengths[i]);
  }
  return finished({}, std::move(table), options);
}

}  // namespace penstock
