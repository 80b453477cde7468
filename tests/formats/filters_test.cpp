#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include <formats/extent.hpp>
#include <formats/filters/declared_size.hpp>
#include <formats/filters/filters.hpp>
#include <penstock/error.hpp>

namespace penstock::test::filters_test {

using Bytes = std::vector<std::byte>;

namespace {

constexpr unsigned kSeed = 20240611;

// A third of the range, so that deflate has something to do.
Bytes noise(std::size_t length, unsigned seed = kSeed) {
  std::mt19937 random(seed);
  Bytes bytes(length);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 85);
  return bytes;
}

Bytes deflated(const Bytes& plain) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  Bytes stored(libdeflate_zlib_compress_bound(compressor, plain.size()));
  stored.resize(libdeflate_zlib_compress(compressor, plain.data(), plain.size(), stored.data(), stored.size()));
  libdeflate_free_compressor(compressor);
  return stored;
}

// Runs only, and a copy wherever the same byte goes on: what an LZF stream may hold.
Bytes lzf(const Bytes& plain) {
  Bytes stored;
  const auto put = [&stored](std::size_t value) { stored.push_back(static_cast<std::byte>(value)); };
  for (std::size_t at = 0; at < plain.size();) {
    std::size_t same = 0;  // bytes from `at` on that repeat the ones `back` before
    const std::size_t back = 5;
    while (at >= back && same < 264 && at + same < plain.size() && plain[at + same] == plain[at + same - back]) ++same;
    if (same >= 3) {
      const std::size_t length = same - 2;
      put(std::min<std::size_t>(length, 7) << 5);
      if (length >= 7) put(length - 7);
      put(back - 1);
      at += same;
    } else {
      put(0);
      stored.push_back(plain[at++]);
    }
  }
  return stored;
}

Bytes repeating(std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i / 700 % 2 == 0 ? i % 5 : i * i % 251);
  return bytes;
}

Bytes shuffled(const Bytes& plain, std::size_t element) {
  const std::size_t count = plain.size() / element;
  Bytes stored(plain);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < element; ++b) stored[b * count + i] = plain[i * element + b];
  }
  return stored;
}

// Straight from the definition, with a division at every step.
Bytes with_fletcher32(Bytes plain) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  for (std::size_t i = 0; i < plain.size(); i += 2) {
    std::uint64_t word = std::to_integer<std::uint64_t>(plain[i]) << 8;
    if (i + 1 < plain.size()) word |= std::to_integer<std::uint64_t>(plain[i + 1]);
    first = (first + word) % 65535;
    second = (second + first) % 65535;
  }
  const auto sum = static_cast<std::uint32_t>(second << 16 | first);
  const auto* trailer = reinterpret_cast<const std::byte*>(&sum);
  plain.insert(plain.end(), trailer, trailer + 4);
  return plain;
}

Block block_of(std::size_t decoded_length, std::vector<Filter> filters) {
  return {.extent = {}, .filters = std::move(filters), .decoded_length = decoded_length};
}

Bytes undone(const Block& block, const Bytes& stored) {
  Bytes decoded(block.decoded_length);
  Bytes scratch;
  penstock::undo_filters(block, stored, decoded, scratch);
  return decoded;
}

ErrorKind kind_of_failure(const Block& block, const Bytes& stored) {
  try {
    undone(block, stored);
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::io;
}

Bytes bytes(std::initializer_list<unsigned> values) {
  Bytes made;
  for (const unsigned value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes number(std::uint64_t value, std::size_t width) {
  Bytes made;
  for (; width > 0; --width, value >>= 8) made.push_back(static_cast<std::byte>(value));
  return made;
}

Bytes big_number(std::uint64_t value, std::size_t width) {
  Bytes made = number(value, width);
  std::reverse(made.begin(), made.end());
  return made;
}

// Frames laid out by hand. Source: RFC 8878, section 3.1.1.
const Bytes kZstdMagic = bytes({0x28, 0xB5, 0x2F, 0xFD});

Bytes zstd_block(unsigned kind, std::size_t size, const Bytes& content, bool last = true) {
  return number(size << 3 | kind << 1 | (last ? 1U : 0U), 3) + content;
}

// A frame of one segment that claims `content` bytes, in front of its blocks.
Bytes zstd_frame(std::uint64_t content, const Bytes& blocks) {
  return kZstdMagic + bytes({0xE0}) + number(content, 8) + blocks;
}

// What is thrown for stored bytes that cannot be the block's; no memory may have been taken for it.
std::string refused_before_memory(std::uint64_t decoded_length, std::vector<Filter> filters, const Bytes& stored) {
  Bytes decoded, scratch;
  try {
    penstock::undo_filters(block_of(decoded_length, std::move(filters)), stored, decoded, scratch);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    CHECK(decoded.capacity() == 0);
    CHECK(scratch.capacity() == 0);
    return error.cause();
  }
  FAIL("no error");
  return {};
}

constexpr Filter kZstd{Filter::Id::zstd, 0}, kLz4{Filter::Id::lz4, 0}, kBlosc{Filter::Id::blosc, 0};
constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;
constexpr unsigned kRaw = 0, kRun = 1, kCompressed = 2;

constexpr Filter kDeflate{Filter::Id::deflate, 0};
constexpr Filter kFletcher{Filter::Id::fletcher32, 0};

constexpr Filter kLzf{Filter::Id::lzf, 0};

Filter byte_swap(std::uint32_t element) {
  return {Filter::Id::byte_swap, element};
}

Filter shuffle(std::uint32_t element) {
  return {Filter::Id::shuffle, element};
}

}  // namespace

TEST_CASE("every usual pipeline is undone, at awkward lengths and element sizes") {
  for (const std::size_t length : {0U, 1U, 2U, 7U, 359U, 720U, 721U, 4096U, 100'003U}) {
    for (const std::uint32_t element : {1U, 2U, 3U, 4U, 8U, 12U, 200U}) {
      CAPTURE(length);
      CAPTURE(element);
      const Bytes plain = noise(length);
      const Bytes mixed = shuffled(plain, element);
      CHECK(undone(block_of(length, {}), plain) == plain);
      CHECK(undone(block_of(length, {shuffle(element)}), mixed) == plain);
      CHECK(undone(block_of(length, {kDeflate}), deflated(plain)) == plain);
      CHECK(undone(block_of(length, {shuffle(element), kDeflate}), deflated(mixed)) == plain);
      CHECK(undone(block_of(length, {shuffle(element), kDeflate, kFletcher}), with_fletcher32(deflated(mixed))) ==
            plain);
      CHECK(undone(block_of(length, {kFletcher, shuffle(element), kDeflate}),
                   deflated(shuffled(with_fletcher32(plain), element))) == plain);
      CHECK(undone(block_of(length, {kDeflate, shuffle(element)}), shuffled(deflated(plain), element)) == plain);
    }
  }
}

TEST_CASE("lzf is undone: runs, short and long copies, copies that overlap what they make") {
  for (const std::size_t length : {0U, 1U, 4U, 8U, 9U, 300U, 2000U, 100'003U}) {
    CAPTURE(length);
    const Bytes plain = repeating(length);
    CHECK(undone(block_of(length, {kLzf}), lzf(plain)) == plain);
    CHECK(undone(block_of(length, {shuffle(4), kLzf}), lzf(shuffled(plain, 4))) == plain);
  }
}

TEST_CASE("cut, flipped and lying lzf streams give an error or bytes, and stay inside their buffers") {
  const Bytes plain = repeating(3000);
  const Bytes stored = lzf(plain);
  for (std::size_t length = 0; length < stored.size(); ++length) {
    const Bytes cut(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK(kind_of_failure(block_of(plain.size(), {kLzf}), cut) == ErrorKind::corrupt);
  }
  CHECK(kind_of_failure(block_of(plain.size() - 1, {kLzf}), stored) == ErrorKind::corrupt);
  CHECK(kind_of_failure(block_of(plain.size() + 1, {kLzf}), stored) == ErrorKind::corrupt);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 3000; ++round) {
    Bytes broken = stored;
    broken[random() % broken.size()] ^= static_cast<std::byte>(1U << random() % 8);
    try {
      undone(block_of(plain.size(), {kLzf}), broken);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::corrupt);
    }
  }
}

TEST_CASE("the bytes of elements of any size are swapped, before or behind other filters") {
  for (const std::uint32_t element : {1U, 2U, 3U, 4U, 8U, 16U}) {
    CAPTURE(element);
    const Bytes plain = noise(480 * element);
    Bytes swapped = plain;
    for (std::size_t at = 0; at < plain.size(); at += element) {
      std::reverse(swapped.begin() + static_cast<std::ptrdiff_t>(at),
                   swapped.begin() + static_cast<std::ptrdiff_t>(at + element));
    }
    CHECK(undone(block_of(plain.size(), {byte_swap(element)}), swapped) == plain);
    CHECK(undone(block_of(plain.size(), {byte_swap(element), shuffle(element), kDeflate}),
                 deflated(shuffled(swapped, element))) == plain);
    if (element > 1) CHECK(kind_of_failure(block_of(7, {byte_swap(element)}), noise(7)) == ErrorKind::corrupt);
  }
  CHECK(kind_of_failure(block_of(8, {byte_swap(0)}), noise(8)) == ErrorKind::corrupt);
}

TEST_CASE("a .npy file is brought into C order, and a header that promises more elements is corrupt") {
  const auto file = [](const std::string& order, const std::string& shape) {
    const std::string header = "{'descr': '|u1', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
    const std::string text = std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header;
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return Bytes(begin, begin + text.size());
  };
  const auto with = [](Bytes header, std::string_view data) {
    for (const char value : data) header.push_back(static_cast<std::byte>(value));
    return header;
  };
  const Filter order{Filter::Id::npy_order, 0};
  const Bytes fortran = file("True", "(2, 2)"), plain = file("False", "(2, 2)");
  CHECK(undone(block_of(fortran.size() + 5, {order}), with(fortran, "abcd+")) == with(fortran, "acbd+"));
  CHECK(undone(block_of(fortran.size() + 4, {order, kDeflate}), deflated(with(fortran, "abcd"))) ==
        with(fortran, "acbd"));
  CHECK(undone(block_of(plain.size() + 4, {order}), with(plain, "abcd")) == with(plain, "abcd"));
  CHECK(kind_of_failure(block_of(fortran.size() + 3, {order}), with(fortran, "abc")) == ErrorKind::corrupt);
  CHECK(kind_of_failure(block_of(9, {order}), noise(9)) == ErrorKind::corrupt);
}

TEST_CASE("no block is taken to decode to more than its filters can make") {
  const std::vector<Filter> none, lzf_and_shuffle{shuffle(4), kLzf}, deflate{kDeflate};
  CHECK(penstock::longest_decoded(1000, none) == 1000);
  CHECK(penstock::longest_decoded(1000, lzf_and_shuffle) < 100'000);
  CHECK(penstock::longest_decoded(1000, deflate) > 1'000'000);
  const std::vector<Filter> twice{deflate[0], deflate[0]};
  CHECK(penstock::longest_decoded(1000, twice) == penstock::longest_decoded(1000, deflate));
  CHECK(penstock::longest_decoded(~std::uint64_t{0}, deflate) == ~std::uint64_t{0});
}

TEST_CASE("fletcher32 is accepted in both byte orders that HDF5 has written, and refused when a byte differs") {
  const Bytes plain{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{'d'}, std::byte{'e'}};
  Bytes stored = with_fletcher32(plain);
  CHECK(undone(block_of(5, {kFletcher}), stored) == plain);
  std::swap(stored[5], stored[6]);
  std::swap(stored[7], stored[8]);
  CHECK(undone(block_of(5, {kFletcher}), stored) == plain);
  stored[0] ^= std::byte{1};
  CHECK(kind_of_failure(block_of(5, {kFletcher}), stored) == ErrorKind::corrupt);
}

TEST_CASE("a block that decodes to more or fewer bytes than declared is corrupt") {
  const Bytes plain = noise(1000);
  for (const std::size_t declared : {0U, 1U, 999U, 1001U, 5000U}) {
    CHECK(kind_of_failure(block_of(declared, {}), plain) == ErrorKind::corrupt);
    CHECK(kind_of_failure(block_of(declared, {kDeflate}), deflated(plain)) == ErrorKind::corrupt);
    CHECK(kind_of_failure(block_of(declared, {shuffle(4)}), plain) == ErrorKind::corrupt);
    CHECK(kind_of_failure(block_of(declared, {shuffle(4), kDeflate}), deflated(plain)) == ErrorKind::corrupt);
    CHECK(kind_of_failure(block_of(declared, {kFletcher}), with_fletcher32(plain)) == ErrorKind::corrupt);
  }
}

TEST_CASE("what is not known here is refused by number, and a double compression by name") {
  const Filter szip{static_cast<Filter::Id>(4), 0};
  CHECK(kind_of_failure(block_of(8, {szip}), noise(8)) == ErrorKind::unsupported);
  CHECK(kind_of_failure(block_of(8, {kDeflate, kDeflate}), deflated(deflated(noise(8)))) == ErrorKind::unsupported);
}

TEST_CASE("cut and flipped blocks give an error or bytes, and stay inside their buffers") {
  const Bytes plain = noise(3000);
  const Block block = block_of(plain.size(), {shuffle(4), kDeflate, kFletcher});
  const Bytes stored = with_fletcher32(deflated(shuffled(plain, 4)));
  for (std::size_t length = 0; length < stored.size(); length += 13) {
    const Bytes cut(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK(kind_of_failure(block, cut) == ErrorKind::corrupt);
  }
  std::mt19937 random(kSeed);
  const Block unchecked = block_of(plain.size(), {shuffle(4), kDeflate});
  for (int round = 0; round < 500; ++round) {
    Bytes broken = deflated(shuffled(plain, 4));
    broken[random() % broken.size()] ^= static_cast<std::byte>(1U << random() % 8);
    CHECK(kind_of_failure(unchecked, broken) == ErrorKind::corrupt);  // zlib's own checksum sees it
  }
}

TEST_CASE("a zstd frame claims what its blocks can hold, and no more than it says itself") {
  using penstock::zstd_claim;
  const Bytes three = bytes({1, 2, 3}), block = zstd_block(kRaw, 3, three), run = zstd_block(kRun, 1000, bytes({7}));
  CHECK(zstd_claim({}) == 0);
  CHECK(zstd_claim(zstd_frame(3, block)) == 3);
  CHECK(zstd_claim(zstd_frame(kHuge, block)) == 3);
  CHECK(zstd_claim(zstd_frame(1000, run)) == 1000);
  CHECK(zstd_claim(zstd_frame(10, run)) == 10);
  CHECK(zstd_claim(zstd_frame(3, block) + zstd_frame(1000, run)) == 1003);
  CHECK(zstd_claim(zstd_frame(1003, zstd_block(kRaw, 3, three, false) + run)) == 1003);
  const Bytes skippable = bytes({0x5A, 0x2A, 0x4D, 0x18}) + number(3, 4) + three;
  CHECK(zstd_claim(skippable + zstd_frame(3, block)) == 3);
  CHECK(zstd_claim(kZstdMagic + bytes({0x24, 3}) + block + number(0, 4)) == 3);  // a checksum behind the blocks
  CHECK(zstd_claim(kZstdMagic + bytes({0x60}) + number(3, 2) + zstd_block(kCompressed, 3, three)) == 259);
  // Without a size a compressed block can be as long as the window, here 1 KiB, and never longer than 128 KiB.
  CHECK(zstd_claim(kZstdMagic + bytes({0, 0}) + zstd_block(kCompressed, 3, three)) == 1024);
  CHECK(zstd_claim(kZstdMagic + bytes({0, 0xF8}) + zstd_block(kCompressed, 3, three)) == 128 << 10);
}

TEST_CASE("cut or impossible zstd frames are corrupt, wherever they end") {
  const Bytes frame = zstd_frame(3, zstd_block(kRaw, 3, bytes({1, 2, 3})));
  for (std::size_t length = 1; length < frame.size(); ++length) {
    const Bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK_THROWS_AS(penstock::zstd_claim(cut), Error);
  }
  CHECK_THROWS_AS(penstock::zstd_claim(zstd_frame(3, zstd_block(3, 3, bytes({1, 2, 3})))), Error);
  CHECK_THROWS_AS(penstock::zstd_claim(bytes({1, 2, 3, 4, 5})), Error);
}

TEST_CASE("lengths that the stored frames do not claim are refused before memory is taken for them") {
  const Bytes liar = zstd_frame(kHuge, zstd_block(kRaw, 3, bytes({1, 2, 3})));
  CHECK(refused_before_memory(kHuge, {kZstd}, liar).find("declares at most 3") != std::string::npos);
  refused_before_memory(kHuge, {shuffle(4), kZstd}, liar);
  refused_before_memory(kHuge, {kZstd, kFletcher}, liar + bytes({0, 0, 0, 0}));
  refused_before_memory(kHuge, {kZstd, kFletcher}, bytes({0, 0}));
  refused_before_memory(kHuge, {byte_swap(4), kZstd, {Filter::Id::crc32, 7}}, liar);
  refused_before_memory(kHuge, {kZstd}, {});

  const Bytes small_lz4 = big_number(5, 8) + big_number(5, 4) + big_number(5, 4) + bytes({1, 2, 3, 4, 5});
  CHECK(penstock::lz4_claim(small_lz4) == 5);
  refused_before_memory(kHuge, {kLz4}, small_lz4);
  const Bytes lying_lz4 = big_number(kHuge, 8) + big_number(1 << 30, 4) + big_number(3, 4) + bytes({1, 2, 3});
  CHECK(refused_before_memory(kHuge, {kLz4}, lying_lz4).find("lz4 block is broken") != std::string::npos);
  refused_before_memory(kHuge, {kLz4}, big_number(kHuge, 8) + big_number(0, 4) + big_number(0, 4));

  const auto blosc = [](unsigned flags, std::uint64_t claim) {
    return bytes({2, 1, flags, 4}) + number(claim, 4) + number(claim, 4) + number(20, 4) + bytes({1, 2, 3, 4});
  };
  CHECK(penstock::blosc_claim(blosc(2, 4)) == 4);
  CHECK(penstock::blosc_claim(blosc(2, 1 << 30)) == 4);             // copied as it is
  CHECK(penstock::blosc_claim(blosc(1 << 5, 1 << 30)) == 4 * 255);  // lz4
  CHECK(penstock::blosc_claim(blosc(3 << 5, 1 << 30)) == 4 * 1032);
  CHECK(penstock::blosc_claim(blosc(4 << 5, 1000)) == 1000);
  refused_before_memory(1 << 30, {shuffle(4), kBlosc}, blosc(1 << 5, 1 << 30));
  refused_before_memory(1 << 30, {kBlosc}, bytes({2, 1}));
}

}  // namespace penstock::test::filters_test
