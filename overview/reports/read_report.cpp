#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include <base/printable.hpp>
#include <formats/text/json_document.hpp>
#include <overview/reports/read_report.hpp>
#include <overview/reports/report_tables.hpp>
#include <overview/trace/byte_source.hpp>
#include <penstock/error.hpp>

namespace penstock::overview {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

/// Reads the names of the members at the top until they determine the kind (the SAX interface of nlohmann::json).
class TopMembers {
 public:
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool binary(nlohmann::json::binary_t&) { return true; }
  bool number_integer(std::int64_t) { return true; }
  bool number_unsigned(std::uint64_t) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool string(const std::string&) { return true; }
  bool start_object(std::size_t) { return ++depth_ != 0; }
  bool end_object() { return depth_-- != 0; }
  bool end_array() { return depth_-- != 0; }
  bool start_array(std::size_t) { return depth_++ != 0 || found(FileKind::trace); }
  bool key(const std::string& name) {
    if (depth_ != 1) return true;
    if (name == "traceEvents" || name == "schemaVersion") return found(FileKind::trace);
    if (name == "penstock_run") return found(FileKind::run);
    version_ = version_ || name == "penstock";
    measured_ = measured_ || name == "machine" || name == "rows";
    return !(version_ && measured_) || found(FileKind::bench);
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) { return false; }

  FileKind kind() const { return kind_; }

 private:
  bool found(FileKind kind) {
    kind_ = kind;
    return false;
  }
  FileKind kind_ = FileKind::other;
  std::size_t depth_ = 0;
  bool version_ = false, measured_ = false;
};

std::string text_of_file(const std::filesystem::path& path) {
  ByteSource source(path, [](std::uint64_t) {});
  std::string text;
  for (; !source.at_end() && text.size() < kMostBytes; source.advance()) text += source.current();
  if (source.failure()) std::rethrow_exception(source.failure());
  if (!source.at_end()) throw Error::unsupported("larger than 64 MiB, unlike any report");
  return text;
}

Report parse_report(const std::string& text, FileKind kind) {
  const JsonDocument document(text);
  return kind == FileKind::run ? report_of_run(document.root()) : report_of_bench(document.root());
}

}  // namespace

std::string_view name(FileKind kind) {
  switch (kind) {
    case FileKind::trace:
      return "a trace of the PyTorch profiler";
    case FileKind::run:
      return "a report of penstock run";
    case FileKind::bench:
      return "a report of penstock bench or tune";
    case FileKind::other:
      break;
  }
  return "neither a trace nor a report";
}

FileKind kind_of_file(const std::filesystem::path& path) {
  ByteSource source(path, [](std::uint64_t) {});
  TopMembers members;
  nlohmann::json::sax_parse(ByteIterator(source), ByteIterator(), &members);
  return members.kind();
}

Report read_report(const std::filesystem::path& path, FileKind kind) {
  const ErrorContext context{.dataset = path.string()};
  try {
    Report out = parse_report(text_of_file(path), kind);
    out.path = path.string();
    return out;
  } catch (const Error& error) {
    throw error.in(context);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error::corrupt(
        std::string(name(kind)) + " that is cut or changed: not JSON at byte " + with_commas(error.byte), context);
  } catch (const nlohmann::json::exception&) {
    throw Error::corrupt(std::string(name(kind)) + " with an invalid number", context);
  }
}

}  // namespace penstock::overview
