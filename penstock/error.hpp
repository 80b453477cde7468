// The exception type of penstock: the kind of an error, its cause, and its place in the data.
//
//   try {
//     penstock::open("missing");
//   } catch (const penstock::Error& error) {
//     std::cerr << error.what() << '\n';  // "missing: io: No such file or directory"
//   }
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// The kinds of errors.
enum class ErrorKind : std::uint8_t {
  invalid_argument,  ///< an option or a call is wrong
  io,                ///< the operating system reported an error (errno)
  corrupt,           ///< the bytes contradict their format
  unsupported,       ///< valid, but not supported
  shape,             ///< a sample does not have the shape that its field must have
  resource,          ///< memory, file descriptors or batch buffers ran out
};

std::string_view name(ErrorKind kind);  ///< "io"

/// The place of an error. Unknown parts stay empty.
struct ErrorContext {
  std::string dataset = {};  ///< path as the user opened it
  std::string shard = {};    ///< file inside the dataset
  std::string key = {};      ///< key of the sample
  std::string field = {};
  std::optional<std::uint64_t> offset = {};  ///< bytes from the start of the shard
};

/// The only exception type of penstock's own errors. what() is one line: "DATASET: SHARD: sample KEY: field FIELD:
/// offset N: KIND: CAUSE", without the empty parts. Each static function returns an Error of the kind with its name.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string cause, ErrorContext context = {});

  static Error invalid_argument(std::string cause, ErrorContext context = {});
  /// Appends the text of `errnum` to the cause.
  static Error io(int errnum, std::string cause, ErrorContext context = {});
  static Error corrupt(std::string cause, ErrorContext context = {});
  static Error unsupported(std::string cause, ErrorContext context = {});
  static Error shape(std::string cause, ErrorContext context = {});
  static Error resource(std::string cause, ErrorContext context = {});

  ErrorKind kind() const { return kind_; }
  const std::string& cause() const { return cause_; }  ///< without kind and place
  const ErrorContext& context() const { return context_; }
  const char* what() const noexcept override { return text_.c_str(); }

  /// Returns this error, with its empty context parts taken from `outer`.
  Error in(const ErrorContext& outer) const;

  /// True if the sample's bytes are at fault (corrupt, unsupported, shape), so an error policy may replace or mark the
  /// sample.
  bool is_data_fault() const;

 private:
  ErrorKind kind_;
  std::string cause_;
  ErrorContext context_;
  std::string text_;
};

}  // namespace penstock
