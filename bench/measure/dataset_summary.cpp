#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include <base/machine.hpp>
#include <base/printable.hpp>
#include <bench/measure/dataset_summary.hpp>
#include <bench/measure/units.hpp>
#include <formats/dataset.hpp>
#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/index/attributes.hpp>
#include <formats/labels/absent_classes.hpp>
#include <formats/layout_line.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <transforms/first_bytes.hpp>

namespace penstock {
namespace {

void count_values(const Dataset& dataset, std::uint32_t number, FieldSummary& field) {
  std::vector<Piece> pieces;
  const bool complete = dataset.complete(number);
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    if (!complete && !dataset.locate(sample, number, pieces)) continue;
    const std::uint64_t length = dataset.length(sample, number);
    field.min_bytes = field.samples == 0 ? length : std::min(field.min_bytes, length);
    field.max_bytes = std::max(field.max_bytes, length);
    field.bytes += length;
    ++field.samples;
    if (dataset.crc32c(sample, number)) ++field.checked;
  }
}

std::int64_t median(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void probe_images(const Dataset& dataset, std::uint32_t number, std::uint64_t probes, FieldSummary& field) {
  std::vector<std::int64_t> heights, widths;
  std::vector<Piece> pieces;
  const std::uint64_t count = std::min(probes, dataset.size());
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t sample = i * dataset.size() / count;
    if (!dataset.locate(sample, number, pieces)) continue;
    const FieldSchema& schema = dataset.fields()[number];
    std::optional<std::vector<std::byte>> bytes;
    try {
      bytes = read_field(dataset, sample, number);
      const Codec& codec = codec_for(schema, *bytes);
      if (field.schema.codec.empty()) field.schema.codec = codec.name();
      const Layout layout = codec.decoder(schema)->peek({&schema, *bytes});
      if (!layout.image) return;
      heights.push_back(layout.shape.at(0));
      widths.push_back(layout.shape.at(1));
    } catch (const Error& error) {
      if (!error.is_data_fault()) throw;
      const bool delivered = bytes && error.kind() == ErrorKind::unsupported && is_delivered_as_stored(schema, *bytes);
      if (!delivered) ++field.unreadable;
    }
  }
  if (heights.empty()) return;
  field.probed = heights.size();
  field.median_height = median(heights);
  field.median_width = median(widths);
  field.min_height = heights.front(), field.max_height = heights.back();
  field.min_width = widths.front(), field.max_width = widths.back();
}

std::map<std::string, std::string> costs(const Dataset& dataset) {
  std::map<std::string, std::string> all;
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) {
    const auto json = attributes_of(dataset.shard(shard).index);
    if (!json.contains("costs") || !json["costs"].is_object()) continue;
    for (const auto& [name, cost] : json["costs"].items()) {
      if (cost.is_string()) all.emplace(name, cost.get<std::string>());
    }
  }
  return all;
}

double mean_bytes(const FieldSummary& field) {
  return field.samples == 0 ? 0.0 : static_cast<double>(field.bytes) / static_cast<double>(field.samples);
}

// Whether the dataset determines the dtype. Other values state their own.
bool tells_dtype(const FieldSchema& schema) {
  return schema.fixed || codec_traits(schema.codec).tokens;
}

std::string difference_text(const FieldDifferences& differences) {
  using Use = FieldDifferences::Use;
  const char* const outcome = differences.use == Use::nothing        ? " (not readable)"
                              : differences.use == Use::stored_bytes ? " (only the stored bytes are readable)"
                              : differences.widened                  ? " (widened)"
                                                                     : "";
  return differences.text + outcome;
}

std::string codec_text(const FieldSchema& schema) {
  std::string text = schema.codec.empty() ? "unknown" : schema.codec;
  if (tells_dtype(schema)) text += " " + std::string(name(schema.dtype));
  if (schema.fixed) text += " " + to_string(schema.shape);
  return text;
}

}  // namespace

std::string no_classes(const Dataset& dataset) {
  AbsentClasses absent = absent_classes(dataset);
  return absent.almost ? std::move(absent.cause) : std::string();
}

std::string DatasetSummary::checksums() const {
  std::uint64_t values = 0, checked = 0;
  for (const FieldSummary& field : fields) {
    values += field.samples;
    checked += field.checked;
  }
  if (checked == 0) return "none";
  if (checked == values) return "every value";
  return with_commas(checked) + " of " + with_commas(values) + " values";
}

std::string file_system_of(const Dataset& dataset) {
  if (dataset.in_store()) return "store";
  return disk_of(dataset.path_of_shard(0)).file_system;
}

DatasetSummary summarise(const Dataset& dataset, std::uint64_t probes) {
  DatasetSummary summary;
  summary.path = dataset.path().string();
  summary.format = dataset.format();
  summary.packed = dataset.packed();
  summary.samples = dataset.size();
  summary.files = dataset.file_count();
  summary.shards = dataset.shard_count();
  summary.fingerprint = dataset.fingerprint();
  summary.classes.assign(dataset.classes().begin(), dataset.classes().end());
  summary.layout = layout_line(dataset);
  summary.left_out = penstock::left_out(dataset);
  summary.no_classes = penstock::no_classes(dataset);
  summary.costs = costs(dataset);
  for (std::uint32_t file = 0; file < dataset.file_count(); ++file) summary.bytes += dataset.file(file).size;
  for (std::uint32_t number = 0; number < dataset.fields().size(); ++number) {
    FieldSummary field;
    field.schema = dataset.fields()[number];
    count_values(dataset, number, field);
    probe_images(dataset, number, probes, field);
    summary.fields.push_back(std::move(field));
  }
  return summary;
}

std::string to_json(const DatasetSummary& summary) {
  nlohmann::ordered_json json{{"path", summary.path},
                              {"format", summary.format},
                              {"packed", summary.packed},
                              {"layout", summary.layout},
                              {"samples", summary.samples},
                              {"shards", summary.shards},
                              {"files", summary.files},
                              {"bytes", summary.bytes},
                              {"fingerprint", hex(summary.fingerprint)},
                              {"checksums", summary.checksums()}};
  json["fields"] = nlohmann::ordered_json::array();
  for (const FieldSummary& field : summary.fields) {
    nlohmann::ordered_json entry{{"name", field.schema.name},    {"codec", field.schema.codec},
                                 {"samples", field.samples},     {"bytes", field.bytes},
                                 {"min_bytes", field.min_bytes}, {"mean_bytes", mean_bytes(field)},
                                 {"max_bytes", field.max_bytes}, {"checked", field.checked}};
    if (tells_dtype(field.schema)) entry["dtype"] = name(field.schema.dtype);
    if (field.schema.fixed) entry["shape"] = field.schema.shape;
    if (!field.schema.differences.text.empty()) entry["differs"] = field.schema.differences.text;
    if (field.probed > 0)
      entry["images"] = {{"probed", field.probed},
                         {"unreadable", field.unreadable},
                         {"height", {field.min_height, field.median_height, field.max_height}},
                         {"width", {field.min_width, field.median_width, field.max_width}}};
    json["fields"].push_back(std::move(entry));
  }
  json["classes"] = summary.classes;
  if (!summary.no_classes.empty()) json["no_classes"] = summary.no_classes;
  if (!summary.left_out.empty()) json["left_out"] = summary.left_out;
  if (!summary.costs.empty()) json["costs"] = summary.costs;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string to_text(const DatasetSummary& summary) {
  std::ostringstream out;
  const auto plural = [](std::uint64_t count, const char* one, const char* many) {
    return with_commas(count) + " " + (count == 1 ? one : many);
  };
  out << summary.path << "\n"
      << "  format       " << summary.format << (summary.packed ? ", packed by penstock" : "") << "\n"
      << "  read as      " << summary.layout << "\n"
      << "  samples      " << with_commas(summary.samples) << "\n"
      << "  stored in    " << plural(summary.files, "file", "files") << " of "
      << plural(summary.shards, "shard", "shards") << ", " << bytes_text(summary.bytes) << "\n"
      << "  checksums    " << summary.checksums() << "\n"
      << "  fingerprint  " << hex(summary.fingerprint) << "\n";
  for (const FieldSummary& field : summary.fields) {
    out << "  field " << field.schema.name << "\n"
        << "    codec      " << codec_text(field.schema) << "\n"
        << "    values     " << with_commas(field.samples)
        << (field.samples == summary.samples ? "" : " (some samples lack it)") << ", "
        << bytes_text(static_cast<std::uint64_t>(mean_bytes(field))) << " on average, from "
        << bytes_text(field.min_bytes) << " to " << bytes_text(field.max_bytes) << "\n";
    if (!field.schema.differences.text.empty())
      out << "    differs    " << difference_text(field.schema.differences) << "\n";
    if (field.probed > 0)
      out << "    images     " << field.min_width << " to " << field.max_width << " wide (median " << field.median_width
          << "), " << field.min_height << " to " << field.max_height << " high (median " << field.median_height
          << "), of " << field.probed << " probed\n";
    if (field.unreadable > 0) out << "    unreadable " << field.unreadable << " of the probed values\n";
  }
  if (!summary.classes.empty()) {
    out << "  classes      " << summary.classes.size() << ": ";
    for (std::size_t i = 0; i < summary.classes.size() && i < 8; ++i) out << (i ? ", " : "") << summary.classes[i];
    out << (summary.classes.size() > 8 ? ", ...\n" : "\n");
  }
  if (!summary.no_classes.empty()) out << "  no classes   " << summary.no_classes << "\n";
  for (const auto& [name, cost] : summary.costs) out << "  slow to read " << name << ": " << cost << "\n";
  for (const auto& [name, reason] : summary.left_out) out << "  left out     " << name << ": " << reason << "\n";
  return out.str();
}

}  // namespace penstock
