#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/indexed_path.hpp>
#include <formats/index/inline_piece.hpp>
#include <formats/index/probe_stamp.hpp>
#include <formats/places/places.hpp>
#include <formats/text/json_texts.hpp>
#include <formats/text/numpy_text.hpp>
#include <formats/tfrecord/example.hpp>
#include <formats/tfrecord/frames.hpp>
#include <formats/tfrecord/tfrecord.hpp>
#include <formats/tfrecord/writer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeyFeature = "__key__", kWholeRecord = "value";
constexpr std::uint64_t kInlineInts = 8;  // a block costs more than this number of values in the index
constexpr std::array<std::string_view, 3> kEndings{".tfrecord", ".tfrecords", ".tfrec"};

// How a feature becomes a field. All records of a file must agree, so the widest form is used.
enum class Form : std::uint8_t { bytes, texts, one_int, array, any };

bool is_list_of_strings(const ExampleFeature& feature) {
  return feature.kind == ExampleFeature::Kind::bytes && feature.count > 1;
}

Form form_of(const ExampleFeature& feature) {
  if (is_list_of_strings(feature)) return Form::texts;
  if (feature.kind == ExampleFeature::Kind::bytes) return Form::bytes;
  return feature.kind == ExampleFeature::Kind::ints && feature.count == 1 ? Form::one_int : Form::array;
}

Form both(Form a, Form b) {
  if (a == b) return a;
  const auto numbers = [](Form form) { return form == Form::one_int || form == Form::array; };
  const auto strings = [](Form form) { return form == Form::bytes || form == Form::texts; };
  if (numbers(a) && numbers(b)) return Form::array;
  return strings(a) && strings(b) ? Form::texts : Form::any;
}

FieldSchema schema_of(std::string_view name, Form form) {
  FieldSchema schema{.name = std::string(name), .codec = ""};
  if (form == Form::bytes) schema.codec = field_from_extension(name).codec;
  if (form == Form::texts) schema.codec = "json";
  if (form == Form::one_int) schema.codec = "cls";
  if (form == Form::array) schema.codec = "npy";
  return schema;
}

// Returns the byte strings as a JSON list. If one is not UTF-8, returns nothing and sets `reason`.
std::optional<std::string> json_strings(const ExampleFeature& feature, std::string& reason) {
  std::vector<std::string> texts;
  for (const std::span<const std::byte> value : string_values(feature)) {
    std::optional<std::string> text = json_text(text_of(value));
    if (!text) {
      reason = not_utf8(text_of(value));
      return std::nullopt;
    }
    texts.push_back(*std::move(text));
  }
  return json_list(texts);
}

bool is_absent(const ExampleFeature& feature) {
  return feature.kind == ExampleFeature::Kind::none ||
         (feature.kind == ExampleFeature::Kind::bytes && feature.count == 0);
}

/// "train.tfrecord-00000-of-00010" -> "train-00000-of-00010"
std::string stem_of(std::string name) {
  for (const std::string_view ending : {".tfrecords", ".tfrecord", ".tfrec"}) {
    const std::size_t at = name.rfind(ending);
    if (at != std::string::npos && at != 0) return name.erase(at, ending.size());
  }
  return name;
}

class TfrecordIndexer {
 public:
  TfrecordIndexer(const fs::path& shard, const fs::path& root)
      : file_(shard, indexed_path(shard, root)), stem_(stem_of(shard.filename().string())) {}

  Index index(const OpenProgress& progress) {
    if (!build(progress)) {
      survey();
      build(progress);
    }
    nlohmann::json left_out;
    for (const auto& [name, list] : not_json_) {
      left_out[name] =
          list.reason + " (in " + std::to_string(list.records) + (list.records == 1 ? " record)" : " records)");
    }
    for (const std::string& name : in_sequences_)
      if (!left_out.contains(name))
        left_out[name] = "a feature of SequenceExample records, each of which is one field, value";
    if (!left_out.empty()) {
      builder_.set_attributes(
          nlohmann::json{{"left_out", left_out}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    return std::move(builder_).finish();
  }

 private:
  // Returns false if a feature needs a wider form than its field has.
  bool build(const OpenProgress& progress) {
    constexpr std::uint64_t kReportEvery = 4096;
    builder_ = IndexBuilder();
    not_json_.clear();
    in_sequences_.clear();
    TfrecordFrames frames(file_);
    for (std::uint64_t number = 0; frames.next(frame_); ++number) {
      if (!add_record(number)) return false;
      if (progress && number % kReportEvery == 0) progress(frame_.header, file_.size());
    }
    // The extents already refer to file 0, the only file.
    builder_.add_file({.path = file_.shard(), .size = file_.size(), .stamp = frames.stamp()});
    if (progress) progress(file_.size(), file_.size());
    return true;
  }

  void survey() {
    TfrecordFrames frames(file_);
    while (frames.next(frame_)) {
      if (!parse_example(frame_.bytes, features_)) continue;
      for (const ExampleFeature& feature : features_) {
        std::string reason;
        const bool read = !is_list_of_strings(feature) || json_strings(feature, reason);
        if (read && !is_absent(feature)) widen(feature);
      }
    }
  }

  // Widens the form of the feature so that it fits all records so far. Returns whether the form changed.
  bool widen(const ExampleFeature& feature) {
    const auto [known, added] = forms_.try_emplace(std::string(feature.name), form_of(feature));
    const Form form = both(known->second, form_of(feature));
    return std::exchange(known->second, form) != form;
  }

  bool add_record(std::uint64_t number) {
    const bool is_example = parse_example(frame_.bytes, features_);
    builder_.add_sample(key_of(number, is_example));
    if (!is_example) {
      for (const std::string_view name : sequence_features(frame_.bytes)) in_sequences_.emplace(name);
      builder_.set(builder_.field({.name = std::string(kWholeRecord), .codec = ""}), extent_of(frame_.bytes));
      return true;
    }
    for (const ExampleFeature& feature : features_) {
      if (feature.name == kKeyFeature || is_absent(feature)) continue;
      if (is_list_of_strings(feature) && !json_of(feature)) continue;
      if (widen(feature)) return false;
      set(feature);
    }
    return true;
  }

  std::string key_of(std::uint64_t number, bool is_example) const {
    constexpr std::size_t kDigits = 8;
    if (is_example) {
      for (const ExampleFeature& feature : features_) {
        if (feature.name != kKeyFeature || feature.kind != ExampleFeature::Kind::bytes || feature.first.empty())
          continue;
        return std::string(text_of(feature.first));
      }
    }
    const std::string digits = std::to_string(number);
    return stem_ + "/" + std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
  }

  void set(const ExampleFeature& feature) {
    const Form form = forms_.at(std::string(feature.name));
    const std::uint32_t field = builder_.field(schema_of(feature.name, form));
    if (builder_.has(field)) {
      throw file_.corrupt("a record has the feature " + shown(feature.name) + " twice", frame_.header);
    }
    if (form == Form::texts || is_list_of_strings(feature)) {
      const std::optional<std::string> json = json_of(feature);
      return json ? set_inline(field, *json) : void();
    }
    if (feature.kind == ExampleFeature::Kind::bytes) return builder_.set(field, extent_of(feature.first));
    if (form == Form::one_int) {
      return set_inline(field, std::to_string(int_values(feature).front()));
    }
    set_array(field, feature);
  }

  void set_inline(std::uint32_t field, const std::string& value) {
    const Piece piece = inline_piece(std::as_bytes(std::span(value)));
    builder_.set(field, std::span(&piece, 1));
  }

  // Returns the strings as a JSON list. Records and reasons of features that JSON cannot hold are kept for a message.
  std::optional<std::string> json_of(const ExampleFeature& feature) {
    std::string reason;
    std::optional<std::string> json = json_strings(feature, reason);
    if (!json) ++not_json_.try_emplace(std::string(feature.name), NotJson{reason}).first->second.records;
    return json;
  }

  void set_array(std::uint32_t field, const ExampleFeature& feature) {
    const bool floats = feature.kind == ExampleFeature::Kind::floats;
    std::string header = npy_header_text(floats ? DType::f32 : DType::i64, {static_cast<std::int64_t>(feature.count)});
    const bool in_place = feature.one_run && feature.count != 0 && (floats || feature.count > kInlineInts);
    if (!in_place) {
      append_values(header, feature);
      return set_inline(field, header);
    }
    const Extent extent = extent_of(feature.first);
    Piece values{.kind = Piece::Kind::extent, .extent = extent, .length = extent.length, .inline_bytes = {}};
    if (!floats) {
      const std::uint64_t length = feature.count * sizeof(std::int64_t);
      values = {.kind = Piece::Kind::block,
                .block = builder_.add_block(
                    {.extent = extent, .filters = {{Filter::Id::varint, 0}}, .decoded_length = length}),
                .length = length,
                .inline_bytes = {}};
    }
    builder_.set(field, std::array{inline_piece(std::as_bytes(std::span(header))), values});
  }

  static void append_values(std::string& value, const ExampleFeature& feature) {
    if (feature.kind == ExampleFeature::Kind::floats) {
      const std::vector<float> values = float_values(feature);
      value.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    } else {
      const std::vector<std::int64_t> values = int_values(feature);
      value.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t));
    }
  }

  Extent extent_of(std::span<const std::byte> part) const {
    if (part.empty()) return {.file = 0, .offset = frame_.data, .length = 0};
    return {.file = 0,
            .offset = frame_.data + static_cast<std::uint64_t>(part.data() - frame_.bytes.data()),
            .length = part.size()};
  }

  static std::string shown(std::string_view name) {
    return is_printable(name) ? "'" + std::string(name) + "'" : "0x" + hexadecimal(name);
  }

  struct NotJson {
    std::string reason;         // of the first record
    std::uint64_t records = 0;  // number of such records
  };

  HeaderWindow file_;
  std::string stem_;
  IndexBuilder builder_;
  TfrecordFrame frame_;                      // the current record
  std::vector<ExampleFeature> features_;     // features of the current record
  std::map<std::string, Form> forms_;        // by feature
  std::map<std::string, NotJson> not_json_;  // features with several strings that are not all UTF-8
  std::set<std::string> in_sequences_;       // names in SequenceExamples
};

Index index_tfrecord(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  return TfrecordIndexer(shard, root).index(progress);
}

// Compares the lengths and checksums of all records, which index() put into the stamp of the file.
bool tfrecord_proves(const fs::path& shard, const Index& index, const OpenProgress& progress) {
  constexpr std::uint64_t kReportEvery = 4096;
  HeaderWindow file(shard, shard.filename().string());
  if (index.file_count() != 1 || index.file(0).size != file.size()) return false;
  try {
    TfrecordFrames frames(file);
    for (std::uint64_t number = 1; frames.skip(); ++number) {
      if (progress && number % kReportEvery == 0) progress(number, std::max(number, index.size()));
    }
    return frames.stamp() == index.file(0).stamp;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) throw;
    return false;  // indexing reports the reason
  }
}

/// "x-00000-of-00010" -> "x". Other names are unchanged.
std::string_view without_part(std::string_view name) {
  constexpr std::size_t kDigits = 5, kLength = 1 + kDigits + 4 + kDigits;
  if (name.size() <= kLength) return name;
  const std::string_view part = name.substr(name.size() - kLength);
  for (std::size_t i = 0; i < kLength; ++i) {
    const bool digit = (i >= 1 && i <= kDigits) || i >= kLength - kDigits;
    if (digit ? part[i] < '0' || part[i] > '9' : part[i] != "-00000-of-"[i]) return name;
  }
  return name.substr(0, name.size() - kLength);
}

// Decides by the name. With `look`, a file whose name has only a part number must begin like a TFRecord, or a
// compressed one.
bool is_shard(const fs::path& path, bool look) {
  std::string name = path.filename().string();
  const bool gzip = name.ends_with(".gz");
  if (gzip) name.resize(name.size() - 3);
  const std::string_view base = without_part(name);
  if (std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) { return base.ends_with(ending); })) {
    return true;
  }
  if (base.size() == name.size()) return false;
  return gzip ? name.find("tfrecord") != std::string::npos : look && begins_as_tfrecord(path);
}

std::vector<fs::path> find_tfrecord_shards(const fs::path& path) {
  if (is_file(path)) {
    return is_shard(path, false) || begins_as_tfrecord(path) ? std::vector{path} : std::vector<fs::path>();
  }
  std::vector<fs::path> shards;
  if (!is_folder(path)) return shards;
  visit_place(path, [&](const char* name) {
    fs::path shard = path / name;
    if (*name != '.' && is_file(shard) && is_shard(shard, true)) shards.push_back(std::move(shard));
    return true;
  });
  std::sort(shards.begin(), shards.end());
  return shards;
}

}  // namespace

constinit const Format kTfrecord{.name = "tfrecord",
                                 .extension = ".tfrecord",
                                 .find_shards = find_tfrecord_shards,
                                 .index = index_tfrecord,
                                 .stamp = probe_stamp,
                                 .write = write_tfrecord,
                                 .room = tfrecord_room,
                                 .proves = tfrecord_proves,
                                 .reader = 2};  // 1: lists names in SequenceExamples; 2: several strings

}  // namespace penstock
