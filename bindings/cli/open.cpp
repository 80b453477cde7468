#include "open.hpp"

#include "progress.hpp"

namespace penstock::cli {

Dataset open_with_progress(const std::filesystem::path& path) {
  Progress progress("indexing", "parts");
  try {
    return open(path, [&](std::uint64_t done, std::uint64_t total) {
      if (!progress(done, total)) throw Error::resource("interrupted");
    });
  } catch (const Error& error) {
    throw OpenFailure(error);
  }
}

}  // namespace penstock::cli
