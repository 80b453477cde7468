#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

#include <penstock/error.hpp>
#include <transforms/clouds/codecs/off.hpp>
#include <transforms/clouds/codecs/table.hpp>
#include <transforms/clouds/codecs/text_numbers.hpp>

namespace penstock {
namespace {

using Corner = std::array<float, 3>;

double area(const Corner& a, const Corner& b, const Corner& c) {
  std::array<double, 3> u{}, v{};
  for (std::size_t i = 0; i < 3; ++i) {
    u[i] = double{b[i]} - a[i];
    v[i] = double{c[i]} - a[i];
  }
  const double x = u[1] * v[2] - u[2] * v[1], y = u[2] * v[0] - u[0] * v[2], z = u[0] * v[1] - u[1] * v[0];
  const double twice = std::sqrt(x * x + y * y + z * z);
  return std::isfinite(twice) ? twice / 2 : 0;
}

/// Reads non-empty lines without their comments.
class OffReader {
 public:
  explicit OffReader(std::span<const std::byte> bytes) : text_("off", bytes) {}

  /// Returns the words of the next non-empty line. Throws Error: corrupt at the end of the file.
  const std::vector<std::string_view>& line(const char* what) {
    for (;;) {
      if (begun_) text_.next_line();
      if (text_.at_end()) throw Error::corrupt(std::string("off: ends before ") + what);
      begun_ = true;
      words_.clear();
      for (std::string_view word = text_.word_of_line(); !word.empty(); word = text_.word_of_line()) {
        const std::size_t comment = word.find('#');
        if (comment != 0) words_.push_back(word.substr(0, comment));
        if (comment != std::string_view::npos) break;
      }
      if (!words_.empty()) return words_;
    }
  }
  const TextReader& text() const { return text_; }
  std::size_t left() const { return text_.left(); }

 private:
  TextReader text_;
  bool begun_ = false;
  std::vector<std::string_view> words_;
};

struct OffHeader {
  bool colours = false, normals = false;
  std::uint64_t vertices = 0, faces = 0;
};

// Returns the keyword: "COFF", "NOFF", "CNOFF" and so on. Characters after "OFF" in the same word belong to the counts.
std::string_view keyword_of(std::string_view word) {
  const std::size_t at = word.find("OFF");
  return at == std::string_view::npos || at > 5 ? std::string_view() : word.substr(0, at + 3);
}

OffHeader read_header(OffReader& reader) {
  std::vector<std::string_view> words = reader.line("its header");
  const std::string_view keyword = keyword_of(words[0]);
  if (keyword.empty()) reader.text().fail("does not begin with OFF");
  OffHeader header;
  for (const char letter : keyword.substr(0, keyword.size() - 3)) {
    if (letter == 'C')
      header.colours = true;
    else if (letter == 'N')
      header.normals = true;
    else
      throw Error::unsupported("off: files of kind '" + std::string(keyword) + "'");
  }
  words[0].remove_prefix(keyword.size());
  if (words[0].empty()) words.erase(words.begin());
  if (!words.empty() && words[0] == "BINARY") throw Error::unsupported("off: binary files");
  if (words.empty()) words = reader.line("its counts");
  if (words.size() < 2) reader.text().fail("counts of vertices and faces must be on one line");
  header.vertices = count_of(reader.text(), words[0]);
  header.faces = count_of(reader.text(), words[1]);
  // A vertex needs three numbers and a face a count: at least 6 and 2 bytes with separators. This bound prevents huge
  // allocations for wrong counts.
  const std::uint64_t room = reader.left() + 1;
  if (header.vertices > room / 6 || header.faces > room / 2) {
    reader.text().fail(std::to_string(header.vertices) + " vertices and " + std::to_string(header.faces) +
                       " faces do not fit the file");
  }
  return header;
}

bool is_off(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 256));
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  const std::string_view word = text.substr(begin, text.find_first_of(" \t\r\n", begin) - begin);
  const std::string_view keyword = keyword_of(word);
  if (keyword.empty() || keyword.find_first_not_of("CNST4nOF") != std::string_view::npos) return false;
  const std::string_view rest = word.substr(keyword.size());
  return rest.empty() ? begin + word.size() < text.size() : std::isdigit(static_cast<unsigned char>(rest[0])) != 0;
}

// Adds the attributes. The words of the first vertex decide how many colours there are, and whether they are integers.
void add_attributes(const OffHeader& header, const std::vector<std::string_view>& first, CloudTable& table) {
  if (header.normals)
    for (const char* name : {"nx", "ny", "nz"}) table.add(name, {.dtype = DType::f32});
  if (!header.colours) return;
  const std::size_t begin = header.normals ? 6 : 3, count = first.size() > begin + 3 ? 4 : 3;
  bool real = false;
  for (std::size_t i = begin; i < std::min(first.size(), begin + count); ++i)
    real = real || first[i].find_first_of(".eE") != std::string_view::npos;
  static constexpr std::array<const char*, 4> kNames{"red", "green", "blue", "alpha"};
  for (std::size_t i = 0; i < count; ++i) table.add(kNames[i], {.dtype = real ? DType::f32 : DType::u8});
}

class Vertices final : public TableDecoder {
 public:
  explicit Vertices(std::vector<std::string> wanted) : wanted_(std::move(wanted)) {}

 protected:
  void read(const FieldBytes& field, CloudTable& table) override {
    OffReader reader(field.bytes);
    const OffHeader header = read_header(reader);
    for (std::uint64_t i = 0; i < header.vertices; ++i) {
      const auto& words = reader.line("its last vertex");
      if (i == 0) {
        add_attributes(header, words, table);
        table.lay_out_columns(header.vertices, wanted_);
      }
      if (words.size() < 3 + table.columns.size()) reader.text().fail("fewer numbers than a vertex has");
      for (std::size_t axis = 0; axis < 3; ++axis) store(reader, words[axis], table.xyz[axis], i, table);
      for (std::size_t k = 0; k < table.columns.size(); ++k) store(reader, words[3 + k], table.columns[k], i, table);
    }
    if (header.vertices == 0) table.lay_out_columns(0, wanted_);
  }

 private:
  static void store(const OffReader& reader, std::string_view word, const TableColumn& column, std::uint64_t vertex,
                    CloudTable& table) {
    if (column.stride == 0) return;
    store_number(reader.text(), word, column.dtype, table.memory.data() + column.begin + vertex * column.stride);
  }

  std::vector<std::string> wanted_;
};

class MeshDecoder final : public OffDecoder {
 public:
  explicit MeshDecoder(const DecodeOptions& options) : vertices_(options.attributes) {}

  const CloudHeader& open(const FieldBytes& field) override { return vertices_.open(field); }
  void coordinates(const FieldBytes& field, const PointChoice& choice, float* out) override {
    vertices_.coordinates(field, choice, out);
  }
  void attribute(const FieldBytes& field, const PointChoice& choice, std::size_t number, std::byte* out) override {
    vertices_.attribute(field, choice, number, out);
  }
  void surface(const FieldBytes& field, std::size_t k, Random& random, float* xyz) override {
    read_off_mesh(field.bytes, mesh_);
    sample_surface(mesh_, k, random, xyz);
  }

 private:
  Vertices vertices_;
  TriangleMesh mesh_;
};

class OffCodec final : public CloudCodec {
 public:
  std::string_view name() const override { return "off"; }
  bool recognises(std::span<const std::byte> first_bytes) const override { return is_off(first_bytes); }
  std::unique_ptr<CloudDecoder> cloud_decoder(const DecodeOptions& options) const override {
    return off_decoder(options);
  }
};

}  // namespace

void TriangleMesh::clear() {
  vertices.clear();
  triangles.clear();
}

void TriangleMesh::add_polygon(const std::vector<std::uint32_t>& corners) {
  for (std::size_t i = 2; i < corners.size(); ++i) triangles.push_back({corners[0], corners[i - 1], corners[i]});
}

void sample_surface(const TriangleMesh& mesh, std::size_t k, Random& random, float* xyz) {
  if (k == 0) return;
  std::vector<double> up_to(mesh.triangles.size());  // cumulative area
  double total = 0;
  for (std::size_t i = 0; i < up_to.size(); ++i) {
    const auto& [a, b, c] = mesh.triangles[i];
    total += area(mesh.vertices[a], mesh.vertices[b], mesh.vertices[c]);
    up_to[i] = total;
  }
  if (!(total > 0) || !std::isfinite(total)) throw Error::corrupt("the surface has no area");
  for (std::size_t i = 0; i < k; ++i, xyz += 3) {
    // The product may be rounded up to the total, for which no triangle would be found.
    const double at = std::min(random.uniform() * total, std::nextafter(total, 0.0));
    const auto triangle = std::upper_bound(up_to.begin(), up_to.end(), at) - up_to.begin();
    const auto& [a, b, c] = mesh.triangles[static_cast<std::size_t>(triangle)];
    const double root = std::sqrt(random.uniform()), share = random.uniform();
    const std::array<double, 3> weights{1 - root, root * (1 - share), root * share};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      xyz[axis] = static_cast<float>(weights[0] * mesh.vertices[a][axis] + weights[1] * mesh.vertices[b][axis] +
                                     weights[2] * mesh.vertices[c][axis]);
    }
  }
}

void read_off_mesh(std::span<const std::byte> bytes, TriangleMesh& mesh) {
  mesh.clear();
  OffReader reader(bytes);
  const OffHeader header = read_header(reader);
  mesh.vertices.resize(header.vertices);
  for (auto& vertex : mesh.vertices) {
    const auto& words = reader.line("its last vertex");
    if (words.size() < 3) reader.text().fail("fewer numbers than a vertex has");
    for (std::size_t axis = 0; axis < 3; ++axis)
      vertex[axis] = static_cast<float>(number_of(reader.text(), words[axis]));
  }
  std::vector<std::uint32_t> corners;
  for (std::uint64_t i = 0; i < header.faces; ++i) {
    // Corners may continue on further lines. Words after the last corner (a colour) are skipped.
    const std::vector<std::string_view>& words = reader.line("its last face");
    const std::uint64_t count = count_of(reader.text(), words[0]);
    corners.clear();
    for (std::size_t at = 1; corners.size() < count; ++at) {
      if (at == words.size()) {
        reader.line("its last face");
        at = 0;
      }
      const std::uint64_t corner = count_of(reader.text(), words[at]);
      if (corner >= header.vertices) reader.text().fail("vertex " + std::to_string(corner) + " does not exist");
      corners.push_back(static_cast<std::uint32_t>(corner));
    }
    mesh.add_polygon(corners);
  }
}

std::unique_ptr<OffDecoder> off_decoder(const DecodeOptions& options) {
  return std::make_unique<MeshDecoder>(options);
}

const CloudCodec& off_codec() {
  static const OffCodec codec;
  return codec;
}

}  // namespace penstock
