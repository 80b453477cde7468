#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include <overview/trace/byte_source.hpp>
#include <overview/trace/read_trace.hpp>
#include <penstock/error.hpp>

namespace penstock::overview {
namespace {

constexpr std::int64_t kNanoseconds = 1000;  // per microsecond

/// Microseconds in decimal notation, as nanoseconds. A double holds the microseconds since 1970 only to a quarter.
std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const bool plain = text.find_first_of("eE") == std::string_view::npos;
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + dot, whole);
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  if (!plain || error != std::errc() || end != text.data() + dot || whole > kMost || whole < -kMost) {
    const double value = std::strtod(std::string(text).c_str(), nullptr) * 1e3;
    if (!(std::abs(value) < 0x1p62)) return std::nullopt;
    return static_cast<std::int64_t>(std::llround(value));
  }
  std::int64_t part = 0, unit = 100;
  for (std::size_t i = dot + 1; i < text.size() && unit != 0; ++i, unit /= 10) part += (text[i] - '0') * unit;
  if (dot + 4 < text.size() && text[dot + 4] >= '5') ++part;
  return whole * kNanoseconds + (text.starts_with('-') ? -part : part);
}

/// The values of one event that matter here.
struct RawEvent {
  std::string phase, category, name, process, thread;
  std::optional<std::int64_t> begin, duration;
  std::uint64_t correlation = 0, external_id = 0;
  std::optional<std::int64_t> device, stream, process_number, thread_number;
  double blocks_per_sm = std::numeric_limits<double>::quiet_NaN();
  double occupancy = std::numeric_limits<double>::quiet_NaN();
  std::optional<std::int64_t> bytes, device_type, device_id;
  std::int64_t allocated = -1, reserved = -1;
};

enum class EventKey : std::uint8_t { other, phase, category, name, process, thread, begin, duration, args };
enum class ArgKey : std::uint8_t {
  other,
  correlation,
  external_id,
  device,
  stream,
  blocks_per_sm,
  occupancy,
  bytes,
  allocated,
  reserved,
  device_type,
  device_id
};

template <typename Key>
Key find_key(const std::unordered_map<std::string_view, Key>& keys, std::string_view text) {
  const auto found = keys.find(text);
  return found == keys.end() ? Key::other : found->second;
}

EventKey event_key(std::string_view text) {
  static const std::unordered_map<std::string_view, EventKey> kKeys{
      {"ph", EventKey::phase},   {"cat", EventKey::category}, {"name", EventKey::name},    {"pid", EventKey::process},
      {"tid", EventKey::thread}, {"ts", EventKey::begin},     {"dur", EventKey::duration}, {"args", EventKey::args}};
  return find_key(kKeys, text);
}

ArgKey arg_key(std::string_view text) {
  static const std::unordered_map<std::string_view, ArgKey> kKeys{{"correlation", ArgKey::correlation},
                                                                  {"External id", ArgKey::external_id},
                                                                  {"external id", ArgKey::external_id},
                                                                  {"device", ArgKey::device},
                                                                  {"stream", ArgKey::stream},
                                                                  {"blocks per SM", ArgKey::blocks_per_sm},
                                                                  {"est. achieved occupancy %", ArgKey::occupancy},
                                                                  {"Bytes", ArgKey::bytes},
                                                                  {"Total Allocated", ArgKey::allocated},
                                                                  {"Total Reserved", ArgKey::reserved},
                                                                  {"Device Type", ArgKey::device_type},
                                                                  {"Device Id", ArgKey::device_id}};
  return find_key(kKeys, text);
}

/// Returns the kind of a host event, or nothing for events that are not used.
std::optional<HostKind> host_kind(std::string_view category, std::string_view name) {
  const bool operators = category == "cpu_op" || category == "Operator";
  if (operators || category == "user_annotation") {
    if (name.starts_with("ProfilerStep#")) return HostKind::step;
    if (name.starts_with("enumerate(DataLoader)#") && name.ends_with(".__next__")) return HostKind::loader;
    return operators ? HostKind::op : HostKind::annotation;
  }
  if (category == "Runtime" || category.ends_with("_runtime") || category.ends_with("_driver"))
    return HostKind::runtime;
  if (category == "python_function") return HostKind::python;
  return std::nullopt;
}

std::optional<DeviceKind> device_kind(std::string_view category) {
  if (category == "kernel" || category == "Kernel") return DeviceKind::kernel;
  if (category == "gpu_memcpy" || category == "Memcpy") return DeviceKind::memcpy;
  if (category == "gpu_memset" || category == "Memset") return DeviceKind::memset;
  return std::nullopt;
}

/// Receives the parts of the JSON text in order (the SAX interface of nlohmann::json), and adds events to a trace.
class TraceBuilder {
 public:
  explicit TraceBuilder(Trace& trace) : trace_(trace) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool binary(nlohmann::json::binary_t&) { return true; }
  bool number_integer(std::int64_t value) { return whole(value); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return number(static_cast<double>(value), std::to_string(value));
    return whole(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& text) { return number(value, text); }

  bool string(const std::string& text) {
    if (in_event()) {
      if (std::string* const place = text_place()) *place = text;
    } else if (depth_ == head_depth_ + 1 && head_ == "distributedInfo" && key_ == "backend") {
      trace_.backend = text;
    } else if (in_device_list() && key_ == "name") {
      trace_.devices.back().name = text;
    }
    return true;
  }

  bool key(const std::string& text) {
    if (in_event()) {
      if (depth_ == event_depth_) event_key_ = event_key(text);
      if (depth_ == event_depth_ + 1 && event_key_ == EventKey::args) arg_key_ = arg_key(text);
      return true;
    }
    if (depth_ == head_depth_) head_ = text;
    key_ = text;
    return true;
  }

  bool start_object(std::size_t) {
    ++depth_;
    if (depth_ == 1) head_depth_ = 1;
    if (in_events_ && depth_ == event_depth_) {
      raw_ = RawEvent();
      event_key_ = EventKey::other;
    }
    if (in_event() && depth_ == event_depth_ + 1) arg_key_ = ArgKey::other;
    if (in_device_list()) trace_.devices.emplace_back();
    return true;
  }

  bool end_object() {
    if (in_events_ && depth_ == event_depth_) add_event();
    --depth_;
    return true;
  }

  bool start_array(std::size_t) {
    // A trace is an object with a list of events, or that list itself.
    const bool named = depth_ == 1 && head_depth_ == 1 && head_ == "traceEvents";
    if (!in_events_ && (depth_ == 0 || named)) {
      in_events_ = found_events_ = true;
      event_depth_ = depth_ + 2;
    }
    ++depth_;
    if (in_event() && depth_ == event_depth_ + 1) event_key_ = EventKey::other;  // only an object has arguments
    return true;
  }

  bool end_array() {
    --depth_;
    if (in_events_ && depth_ + 2 == event_depth_) in_events_ = false;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    error_position_ = position;
    error_ = error.what();
    return false;
  }

  bool found_events() const { return found_events_; }
  std::size_t error_position() const { return error_position_; }
  const std::string& error() const { return error_; }

 private:
  bool in_event() const { return in_events_ && depth_ >= event_depth_; }
  bool in_device_list() const {
    return !in_events_ && depth_ == 3 && (head_ == "deviceProperties" || head_ == "computeProperties");
  }

  std::string* text_place() {
    if (depth_ != event_depth_) return nullptr;
    switch (event_key_) {
      case EventKey::phase:
        return &raw_.phase;
      case EventKey::category:
        return &raw_.category;
      case EventKey::name:
        return &raw_.name;
      case EventKey::process:
        return &raw_.process;
      case EventKey::thread:
        return &raw_.thread;
      default:
        return nullptr;
    }
  }

  bool whole(std::int64_t value) {
    if (!in_event()) {
      head_number(static_cast<double>(value), value);
    } else if (depth_ == event_depth_) {
      if (event_key_ == EventKey::process) raw_.process_number = value;
      if (event_key_ == EventKey::thread) raw_.thread_number = value;
      constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kNanoseconds;
      const bool fits = value <= kMost && value >= -kMost;
      if (event_key_ == EventKey::begin && fits) raw_.begin = value * kNanoseconds;
      if (event_key_ == EventKey::duration && fits) raw_.duration = value * kNanoseconds;
    } else if (depth_ == event_depth_ + 1 && event_key_ == EventKey::args) {
      arg(value);
    }
    return true;
  }

  bool number(double value, const std::string& text) {
    if (!in_event()) {
      head_number(value, static_cast<std::int64_t>(std::abs(value) < 0x1p62 ? value : 0.0));
    } else if (depth_ == event_depth_) {
      if (event_key_ == EventKey::begin) raw_.begin = nanoseconds_of(text);
      if (event_key_ == EventKey::duration) raw_.duration = nanoseconds_of(text);
    } else if (depth_ == event_depth_ + 1 && event_key_ == EventKey::args) {
      constexpr double kMost = 1e30;  // larger values are errors, and do not fit into a float
      if (arg_key_ == ArgKey::blocks_per_sm && std::abs(value) < kMost) raw_.blocks_per_sm = value;
      if (arg_key_ == ArgKey::occupancy && std::abs(value) < kMost) raw_.occupancy = value;
    }
    return true;
  }

  void arg(std::int64_t value) {
    switch (arg_key_) {
      case ArgKey::correlation:
        raw_.correlation = static_cast<std::uint64_t>(value);
        break;
      case ArgKey::external_id:
        raw_.external_id = static_cast<std::uint64_t>(value);
        break;
      case ArgKey::device:
        raw_.device = value;
        break;
      case ArgKey::stream:
        raw_.stream = value;
        break;
      case ArgKey::blocks_per_sm:
        raw_.blocks_per_sm = static_cast<double>(value);
        break;
      case ArgKey::occupancy:
        raw_.occupancy = static_cast<double>(value);
        break;
      case ArgKey::bytes:
        raw_.bytes = value;
        break;
      case ArgKey::allocated:
        raw_.allocated = value;
        break;
      case ArgKey::reserved:
        raw_.reserved = value;
        break;
      case ArgKey::device_type:
        raw_.device_type = value;
        break;
      case ArgKey::device_id:
        raw_.device_id = value;
        break;
      case ArgKey::other:
        break;
    }
  }

  void head_number(double value, std::int64_t integer) {
    if (depth_ == head_depth_ && head_ == "baseTimeNanoseconds") trace_.base_nanoseconds = integer;
    if (depth_ == head_depth_ + 1 && head_ == "distributedInfo") {
      if (key_ == "rank") trace_.rank = integer;
      if (key_ == "world_size") trace_.world_size = integer;
    }
    if (!in_device_list()) return;
    Device& device = trace_.devices.back();
    if (key_ == "id") device.id = static_cast<std::int32_t>(integer);
    if (key_ == "numSms" || key_ == "multiProcessorCount") device.multiprocessors = value;
    if (key_ == "totalGlobalMem") device.memory_bytes = value;
  }

  void add_event() {
    ++trace_.events;
    if (raw_.phase == "i" || raw_.phase == "I") return add_instant();
    if (raw_.phase != "X") return;
    const auto host = host_kind(raw_.category, raw_.name);
    const auto device = device_kind(raw_.category);
    if (!host && !device) return;
    constexpr std::int64_t kMost = std::int64_t{1} << 62;
    if (!raw_.begin || !raw_.duration || *raw_.duration < 0 || std::abs(*raw_.begin) > kMost ||
        *raw_.duration > kMost - *raw_.begin) {
      ++trace_.skipped;
      return;
    }
    if (host) return add_host(*host);
    add_device(*device);
  }

  void add_host(HostKind kind) {
    trace_.host.push_back({.begin = *raw_.begin,
                           .end = *raw_.begin + *raw_.duration,
                           .link = kind == HostKind::runtime ? raw_.correlation : raw_.external_id,
                           .name = trace_.names.number(raw_.name),
                           .thread = thread(),
                           .kind = kind});
  }

  void add_device(DeviceKind kind) {
    const auto narrow = [](const std::optional<std::int64_t>& value, const std::optional<std::int64_t>& otherwise) {
      return static_cast<std::int32_t>(value ? *value : otherwise.value_or(0));
    };
    trace_.device.push_back({.begin = *raw_.begin,
                             .end = *raw_.begin + *raw_.duration,
                             .correlation = raw_.correlation,
                             .external_id = raw_.external_id,
                             .name = trace_.names.number(raw_.name),
                             .device = narrow(raw_.device, raw_.process_number),
                             .stream = narrow(raw_.stream, raw_.thread_number),
                             .blocks_per_sm = static_cast<float>(raw_.blocks_per_sm),
                             .occupancy = static_cast<float>(raw_.occupancy),
                             .kind = kind});
  }

  void add_instant() {
    if (!raw_.begin) return;
    if (raw_.name.starts_with("Iteration Start:")) trace_.record_begin = raw_.begin;
    if (raw_.name == "Record Window End") trace_.record_end = raw_.begin;
    if (raw_.name != "[memory]" || !raw_.bytes) return;
    trace_.memory.push_back({.time = *raw_.begin,
                             .bytes = *raw_.bytes,
                             .allocated = raw_.allocated,
                             .reserved = raw_.reserved,
                             .device_type = static_cast<std::int32_t>(raw_.device_type.value_or(0)),
                             .device = static_cast<std::int32_t>(raw_.device_id.value_or(0))});
  }

  std::uint32_t thread() {
    if (raw_.process_number) raw_.process = std::to_string(*raw_.process_number);
    if (raw_.thread_number) raw_.thread = std::to_string(*raw_.thread_number);
    std::string both = raw_.process + '\n' + raw_.thread;
    const auto [found, added] =
        threads_.try_emplace(std::move(both), static_cast<std::uint32_t>(trace_.threads.size()));
    if (added) trace_.threads.push_back({raw_.process, raw_.thread});
    return found->second;
  }

  Trace& trace_;
  RawEvent raw_;
  std::unordered_map<std::string, std::uint32_t> threads_;
  std::size_t depth_ = 0, event_depth_ = 0, head_depth_ = 0;
  bool in_events_ = false, found_events_ = false;
  EventKey event_key_ = EventKey::other;
  ArgKey arg_key_ = ArgKey::other;
  std::string head_, key_;  // the last key at the top of the text, and the last one of all
  std::size_t error_position_ = 0;
  std::string error_;
};

/// Returns why the bytes of a file ended early, without the place, which a note names by itself. Rethrows all
/// exceptions except Error: corrupt, because a second attempt may read more.
std::string cause_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::corrupt) throw;
    return error.cause();
  }
}

/// Describes what is missing after an incomplete parse, or returns an empty text.
std::string note_of(const ByteSource& source, bool whole, bool at_end) {
  const std::string cause = source.failure() ? ": " + cause_of(source.failure()) : "";
  const std::string place = " after " + std::to_string(source.position()) + " bytes of text";
  const std::string missing = ". Later events are missing, so the figures can be wrong.";
  if (!whole) return (at_end ? "The file ends early," : "The file is broken") + place + cause + missing;
  return cause.empty() ? "" : "The file is damaged" + cause + ". The figures can be wrong.";
}

}  // namespace

std::uint32_t Names::number(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(std::make_unique<const std::string>(text));
  numbers_.emplace(*texts_.back(), number);
  return number;
}

Trace read_trace(const std::filesystem::path& path, const TraceProgress& progress) {
  Trace trace;
  trace.path = path;
  ByteSource source(path, [&](std::uint64_t read) {
    if (progress && !progress(read)) throw Error::resource("interrupted", {.dataset = path.string()});
  });
  TraceBuilder builder(trace);
  const bool whole = nlohmann::json::sax_parse(ByteIterator(source), ByteIterator(), &builder);
  trace.bytes = source.position();
  const ErrorContext context{.dataset = path.string()};
  if (!builder.found_events()) {
    if (source.failure()) std::rethrow_exception(source.failure());
    const std::string expected = "; expected a trace of the PyTorch profiler, or two reports of penstock run or bench";
    if (trace.bytes == 0) throw Error::corrupt("the file is empty" + expected, context);
    if (whole) throw Error::unsupported("no list \"traceEvents\"" + expected, context);
    throw Error::corrupt("not JSON at byte " + std::to_string(builder.error_position()) + expected, context);
  }
  if (std::string note = note_of(source, whole, source.at_end()); !note.empty()) trace.notes.push_back(std::move(note));
  if (trace.skipped != 0)
    trace.notes.push_back(std::to_string(trace.skipped) + " events have no valid time and are left out.");
  return trace;
}

}  // namespace penstock::overview
