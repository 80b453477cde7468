// Ranks that resume: a finished part is taken as it is where the source is as it was, and packed again where it is not.
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include <penstock/verify.hpp>

#include "support/loading.hpp"

namespace penstock::test::convert_parts_resume_test {
namespace fs = std::filesystem;

namespace {

constexpr int kValues = 120;

void write_values(const fs::path& folder, int from, int to, char version) {
  for (int i = from; i < to; ++i)
    write_file(folder / (std::to_string(1000 + i) + ".bin"), std::to_string(i) + std::string(1995, version));
}

ConvertResult pack_rank(const fs::path& source, const fs::path& destination, std::uint32_t rank, bool resume) {
  ConvertOptions options;
  options.shard_size = 32 << 10;
  options.workers = 1;
  options.rank = rank;
  options.world = 3;
  options.resume = resume;
  return convert(open(source), destination, options);
}

}  // namespace

TEST_CASE("a finished part whose values changed since is packed again by resume, and no other") {
  const TemporaryFolder folder;
  const fs::path data = folder / "data", packed = folder / "packed";
  write_values(data, 0, kValues, 'a');
  for (std::uint32_t rank = 0; rank < 3; ++rank) pack_rank(data, packed, rank, false);
  for (std::uint32_t rank = 0; rank < 3; ++rank) CHECK(pack_rank(data, packed, rank, true).samples == 0);

  write_values(data, kValues / 2, kValues / 2 + 1, 'b');  // of equal length
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    const ConvertResult result = pack_rank(data, packed, rank, true);
    CHECK((result.samples > 0) == (rank == 1));
    CHECK((result.resumed > 0) == (rank != 1));
  }
  for (std::uint32_t rank = 0; rank < 3; ++rank) CHECK(pack_rank(data, packed, rank, true).samples == 0);
  finish_convert(packed);
  const Dataset source = open(data), joined = open(packed);
  const VerifyResult proof = verify(joined, {.against = &source});
  CHECK(proof.bad_count == 0);
  CHECK(proof.compared == kValues);
  CHECK(joined.attributes().find("\"values\": \"") == std::string::npos);  // of the parts alone
}

}  // namespace penstock::test::convert_parts_resume_test
