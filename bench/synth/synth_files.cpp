#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <base/parallel_for.hpp>
#include <bench/synth/synth_files.hpp>
#include <formats/io/ownership.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMarker = ".penstock-synth";  // marks an incomplete folder

std::string padded(std::uint64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

void make_folder(const fs::path& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) throw Error::io(failure.value(), "cannot make the folder " + path.string());
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw Error::io(errno, "cannot write " + path.string());
  int failure = 0;
  while (!bytes.empty() && failure == 0) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written >= 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) failure = errno;
  }
  if (::close(file) != 0 && failure == 0) failure = errno;
  if (failure != 0) throw Error::io(failure, "cannot write " + path.string());
}

void refuse_unless_free(const fs::path& destination) {
  std::error_code failure;
  const fs::file_status status = fs::status(destination, failure);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) throw Error::invalid_argument(destination.string() + " exists and is not a folder");
  const bool empty = fs::is_empty(destination, failure);
  if (failure) throw Error::io(failure.value(), "cannot read " + destination.string());
  if (!empty) throw Error::invalid_argument(destination.string() + " exists and is not empty");
}

// Removes only files that an earlier run left here.
void clear(const fs::path& growing) {
  require_own_folder(growing);
  std::error_code failure;
  if (fs::exists(growing, failure) && !fs::is_empty(growing, failure) && !fs::exists(growing / kMarker, failure))
    throw Error::invalid_argument(growing.string() + " was not created by synth; remove it");
  fs::remove_all(growing, failure);
  if (failure) throw Error::io(failure.value(), "cannot clear " + growing.string());
  make_folder(growing);
  write_file(growing / kMarker, {});
}

}  // namespace

void synth_files(const fs::path& destination, std::string_view extension, const SynthOptions& options,
                 const SynthFile& make, const SynthProgress& progress) {
  if (options.count == 0) throw Error::invalid_argument("the number of files must be at least 1");
  if (options.classes == 0) throw Error::invalid_argument("the number of classes must be at least 1");
  refuse_unless_free(destination);
  const fs::path target = destination.has_filename() ? destination : destination.parent_path();
  const fs::path growing = target.string() + ".partial";
  std::error_code failure;
  clear(growing);

  const std::size_t class_digits = std::max<std::size_t>(2, std::to_string(options.classes - 1).size());
  const std::size_t digits = std::max<std::size_t>(6, std::to_string(options.count - 1).size());
  const auto folder_of = [&](std::uint32_t label) { return growing / ("class_" + padded(label, class_digits)); };
  for (std::uint32_t label = 0; label < options.classes && label < options.count; ++label)
    make_folder(folder_of(label));

  const auto make_one = [&](std::uint64_t number) {
    const auto label = static_cast<std::uint32_t>(number % options.classes);
    write_file(folder_of(label) / (padded(number, digits) + "." + std::string(extension)), make(number, label));
  };
  parallel_for(options.count, options.workers, make_one, progress);
  fs::remove(growing / kMarker, failure);
  fs::rename(growing, target, failure);
  if (failure) throw Error::io(failure.value(), "cannot rename " + growing.string() + " to " + target.string());
}

}  // namespace penstock
