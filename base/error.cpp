#include <array>
#include <system_error>
#include <utility>

#include <base/printable.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Returns true if the path adds nothing to the message: the current folder, a file that is the dataset itself, or a
// path that the cause already contains.
bool names_nothing_new(const std::string& dataset, const std::string& cause) {
  const bool unmistakable = dataset.find('/') != std::string::npos;
  return dataset == "." || dataset == "./" || (unmistakable && cause.find(dataset) != std::string::npos);
}

bool names_dataset(const std::string& shard, const std::string& dataset) {
  return shard == "." || shard == dataset || dataset.ends_with("/" + shard) || dataset.ends_with("/" + shard + "/");
}

std::string compose(ErrorKind kind, const std::string& cause, const ErrorContext& context) {
  std::string text;
  auto part = [&text](std::string_view label, std::string_view value) {
    if (value.empty()) return;
    text.append(label).append(value).append(": ");
  };
  if (!names_nothing_new(context.dataset, cause)) part("", context.dataset);
  if (!names_dataset(context.shard, context.dataset)) part("", context.shard);
  part("sample ", context.key);
  part("field ", context.field);
  if (context.offset) part("offset ", std::to_string(*context.offset));
  return one_line(text.append(name(kind)).append(": ").append(cause));
}

}  // namespace

std::string_view name(ErrorKind kind) {
  static constexpr std::array<std::string_view, 6> names{"invalid argument", "i/o",   "corrupt",
                                                         "unsupported",      "shape", "resource"};
  return names.at(static_cast<std::size_t>(kind));
}

Error::Error(ErrorKind kind, std::string cause, ErrorContext context)
    : kind_(kind), cause_(one_line(cause)), context_(std::move(context)), text_(compose(kind_, cause_, context_)) {}

Error Error::invalid_argument(std::string cause, ErrorContext context) {
  return {ErrorKind::invalid_argument, std::move(cause), std::move(context)};
}
Error Error::io(int errnum, std::string cause, ErrorContext context) {
  return {ErrorKind::io, cause + ": " + std::generic_category().message(errnum), std::move(context)};
}
Error Error::corrupt(std::string cause, ErrorContext context) {
  return {ErrorKind::corrupt, std::move(cause), std::move(context)};
}
Error Error::unsupported(std::string cause, ErrorContext context) {
  return {ErrorKind::unsupported, std::move(cause), std::move(context)};
}
Error Error::shape(std::string cause, ErrorContext context) {
  return {ErrorKind::shape, std::move(cause), std::move(context)};
}
Error Error::resource(std::string cause, ErrorContext context) {
  return {ErrorKind::resource, std::move(cause), std::move(context)};
}

Error Error::in(const ErrorContext& outer) const {
  ErrorContext merged = context_;
  auto fill = [](std::string& inner, const std::string& value) {
    if (inner.empty()) inner = value;
  };
  fill(merged.dataset, outer.dataset);
  fill(merged.shard, outer.shard);
  fill(merged.key, outer.key);
  fill(merged.field, outer.field);
  if (!merged.offset) merged.offset = outer.offset;
  return {kind_, cause_, std::move(merged)};
}

bool Error::is_data_fault() const {
  return kind_ == ErrorKind::corrupt || kind_ == ErrorKind::unsupported || kind_ == ErrorKind::shape;
}

}  // namespace penstock
