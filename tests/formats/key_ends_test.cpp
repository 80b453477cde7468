#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/folder/key_ends.hpp>
#include <penstock/error.hpp>

namespace penstock::test::key_ends_test {

namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    all.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return all;
}

// "a|jpg a|seg.png", or "error" where it refuses.
std::string read(std::string_view names, std::string_view option = {}) {
  const std::vector<std::string_view> paths = words(names);
  try {
    const KeyEnds ends = key_ends(paths, option);
    std::string text;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const std::string path(paths[i]);
      text += (i == 0 ? "" : " ") + path.substr(0, ends.lengths[i]) + "|" + path.substr(ends.lengths[i] + 1);
    }
    return text;
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    CHECK(std::string(error.what()).find("key=\"first_dot\"") != std::string::npos);
    CHECK(std::string(error.what()).find("--source-key") != std::string::npos);
    return "error";
  }
}

struct Row {
  const char* names;
  const char* expected;
};

}  // namespace

TEST_CASE("where keys end follows from the other names") {
  const std::vector<Row> table{
      // One dot, and parts that are no words
      {"001.jpg", "001|jpg"},
      {"cat.0.jpg cat.1.jpg dog.0.jpg", "cat.0|jpg cat.1|jpg dog.0|jpg"},
      {"img.rf.06e2a5f.jpg", "img.rf.06e2a5f|jpg"},
      {"scan.nii.gz scan.json", "scan|nii.gz scan|json"},
      {"a/1.nii.gz b/2.jpg", "a/1|nii.gz b/2|jpg"},
      // 1. The stem without the word is a file's
      {"0001.jpg 0001.seg.png 0002.jpg 0002.seg.png", "0001|jpg 0001|seg.png 0002|jpg 0002|seg.png"},
      {"0001.jpg 0001.seg.png", "0001|jpg 0001|seg.png"},
      {"0001.jpg 0001.seg.png 0002.jpg", "0001|jpg 0001|seg.png 0002|jpg"},
      {"0001.jpg 0001.seg.png 0002.seg.png", "0001|jpg 0001|seg.png 0002|seg.png"},
      {"0001.jpg 0001.seg.png 0001.seg.json", "0001|jpg 0001|seg.png 0001|seg.json"},
      {"a/1.jpg a/1.json a/1.seg.png b/1.jpg", "a/1|jpg a/1|json a/1|seg.png b/1|jpg"},
      {"a/1.jpg a/1.seg.png a/2.jpg a/2.seg.png b/3.jpg", "a/1|jpg a/1|seg.png a/2|jpg a/2|seg.png b/3|jpg"},
      {"a/1.jpg a/1.seg.png", "a/1|jpg a/1|seg.png"},
      {"a/1.jpg a/1.edited.jpg a/2.jpg b/3.jpg", "error"},
      {"shoot.jpg shoot.txt shoot.RED.jpg shoot.RED.txt", "error"},
      // 2. The same word everywhere
      {"a.seg.png b.seg.png", "a|seg.png b|seg.png"},
      {"a.seg.png", "a|seg.png"},
      {"x/a.seg.png x/a.seg.json y/b.seg.png y/b.seg.json", "x/a|seg.png x/a|seg.json y/b|seg.png y/b|seg.json"},
      // 3. The same words everywhere
      {"x.left.png x.right.png y.left.png y.right.png", "x|left.png x|right.png y|left.png y|right.png"},
      {"s/im.left.png s/im.right.png t/im.left.png t/im.right.png",
       "s/im|left.png s/im|right.png t/im|left.png t/im|right.png"},
      {"a.left.csv a.right.csv", "a|left.csv a|right.csv"},
      {"a.src.txt a.tgt.txt b.src.txt b.tgt.txt", "a|src.txt a|tgt.txt b|src.txt b|tgt.txt"},
      {"x.left.png x.left.seg.png x.right.png x.right.seg.png y.left.png y.left.seg.png y.right.png y.right.seg.png",
       "x|left.png x|left.seg.png x|right.png x|right.seg.png y|left.png y|left.seg.png y|right.png y|right.seg.png"},
      {"x.left.png x.left.txt x.right.png x.right.txt y.left.png y.left.txt y.right.png y.right.txt", "error"},
      {"x.left.png x.right.png y.left.png", "error"},
      // 4. No two words share a stem
      {"c/001.jpg c/IMG.edited.jpg d/001.jpg d/IMG.edited.jpg",
       "c/001|jpg c/IMG.edited|jpg d/001|jpg d/IMG.edited|jpg"},
      {"001.jpg 002.jpeg.jpg", "001|jpg 002.jpeg|jpg"},
      {"a.red.jpg b.blue.jpg", "a.red|jpg b.blue|jpg"},
      {"a.red.jpg a.red.txt b.blue.jpg b.blue.txt", "a.red|jpg a.red|txt b.blue|jpg b.blue|txt"},
      // 5. No word with two stems
      {"001.jpg John.Smith.jpg John.Doe.jpg", "001|jpg John.Smith|jpg John.Doe|jpg"},
      {"a.left.png a.right.png b.top.png", "a.left|png a.right|png b.top|png"},
      {"001.jpg John.Smith.jpg John.Doe.jpg Jane.Doe.jpg", "error"},
      // 6. One stem, and companions of the longer ones
      {"shoot.RED.jpg shoot.RED.txt shoot.BLUE.jpg shoot.BLUE.txt",
       "shoot.RED|jpg shoot.RED|txt shoot.BLUE|jpg shoot.BLUE|txt"},
      {"shoot.RED.jpg shoot.RED.seg.png shoot.RED.txt shoot.BLUE.jpg shoot.BLUE.txt",
       "shoot.RED|jpg shoot.RED|seg.png shoot.RED|txt shoot.BLUE|jpg shoot.BLUE|txt"},
      {"John.Smith.jpg John.Doe.jpg", "error"},
      // 7. Class folders
      {"c/001.jpg c/John.Smith.jpg c/John.Doe.jpg d/001.jpg d/John.Smith.jpg d/John.Doe.jpg",
       "c/001|jpg c/John.Smith|jpg c/John.Doe|jpg d/001|jpg d/John.Smith|jpg d/John.Doe|jpg"},
      {"c/001.jpg c/John.Smith.jpg c/John.Doe.jpg c/Jane.Doe.jpg c/README.txt",
       "c/001|jpg c/John.Smith|jpg c/John.Doe|jpg c/Jane.Doe|jpg c/README|txt"},
      // Notes prove nothing
      {"x.left.png x.right.png y.left.png y.right.png s/notes.txt",
       "x|left.png x|right.png y|left.png y|right.png s/notes|txt"},
      {"1.jpg labels.train.csv labels.val.csv", "1|jpg labels.train|csv labels.val|csv"},
  };
  for (const Row& row : table) {
    CAPTURE(row.names);
    CHECK(read(row.names) == row.expected);
  }
}

TEST_CASE("the option decides whatever the names say") {
  const char* names = "1.jpg 1.seg.png John.Smith.jpg cat.0.jpg";
  CHECK(read(names, "last_dot") == "1|jpg 1.seg|png John.Smith|jpg cat.0|jpg");
  CHECK(read(names, "first_dot") == "1|jpg 1|seg.png John|Smith.jpg cat.0|jpg");
  CHECK(read("John.Smith.jpg John.Doe.jpg", "last_dot") == "John.Smith|jpg John.Doe|jpg");
}

TEST_CASE("the rule is told only where some name has a word") {
  CHECK(key_ends(words("1.jpg cat.0.jpg"), "").rule.empty());
  CHECK(key_ends(words("1.jpg 1.seg.png"), "").rule == "first_dot");
  CHECK(key_ends(words("1.jpg John.Smith.jpg"), "").rule == "last_dot");
}

}  // namespace penstock::test::key_ends_test
