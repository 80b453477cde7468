#include <support/temporary_folder.hpp>

#include <doctest/doctest.h>

#include <formats/io/path_pattern.hpp>
#include <penstock/error.hpp>

namespace penstock::test::path_pattern_test {
namespace {

using Words = std::vector<std::string>;

Words names(const std::vector<std::filesystem::path>& paths) {
  Words words;
  for (const auto& path : paths) words.push_back(path.filename().string());
  return words;
}

}  // namespace

TEST_CASE("braces stand for what a shell makes of them") {
  CHECK(expand_braces("a{008..011}.tar") == Words{"a008.tar", "a009.tar", "a010.tar", "a011.tar"});
  CHECK(expand_braces("{8..11}") == Words{"8", "9", "10", "11"});
  CHECK(expand_braces("{2..0}") == Words{"2", "1", "0"});
  CHECK(expand_braces("{x,y}{0..1}") == Words{"x0", "x1", "y0", "y1"});
  CHECK(expand_braces("{a,b{1..2}}.tar") == Words{"a.tar", "b1.tar", "b2.tar"});
  CHECK(expand_braces("{a,}z") == Words{"az", "z"});
  CHECK(expand_braces("{a}{}{1..b}{..}}{") == Words{"{a}{}{1..b}{..}}{"});
  CHECK_THROWS_AS(expand_braces("{0..9999999}"), Error);
  CHECK_THROWS_AS(expand_braces("{0..999}{0..999}{0..999}"), Error);
  CHECK_THROWS_AS(expand_braces("{0..99999}" + std::string(1000, 'x')), Error);  // 100 MB of names
  CHECK(expand_braces("{{a,b}") == Words{"{a", "{b"});
  CHECK(expand_braces("{{a,b}}") == Words{"{a}", "{b}"});
  CHECK(expand_braces("}{{1..2},c}") == Words{"}1", "}2", "}c"});
}

TEST_CASE("braces are looked for in one pass, however deep they stand") {
  const std::string open(100'000, '{'), deep = open + std::string(100'000, '}');
  CHECK(expand_braces(open) == Words{open});
  CHECK(expand_braces(deep) == Words{deep});
}

TEST_CASE("wildcards match what is there, in bytewise order, after the braces") {
  const TemporaryFolder folder;
  for (const char* name : {"b1.tar", "b10.tar", "b2.tar", "a1.tar", "c1.txt"}) write_file(folder / name, "");
  const std::string base = folder.path().string();
  CHECK(names(expand_pattern(base + "/b*.tar")) == Words{"b1.tar", "b10.tar", "b2.tar"});
  CHECK(names(expand_pattern(base + "/{b,a}?.tar")) == Words{"b1.tar", "b2.tar", "a1.tar"});
  CHECK(names(expand_pattern(base + "/{b,z}1.tar")) == Words{"b1.tar", "z1.tar"});
  CHECK(expand_pattern(base + "/*.nothing").empty());
  CHECK(is_pattern("a*b"));
  CHECK(is_pattern("a{1..2}"));
  CHECK_FALSE(is_pattern("a{1}b"));
}

}  // namespace penstock::test::path_pattern_test
