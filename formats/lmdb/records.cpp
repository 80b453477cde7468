#include <map>
#include <span>
#include <string>
#include <vector>

#include <formats/index/inline_piece.hpp>
#include <formats/lmdb/records.hpp>
#include <formats/text/numpy_text.hpp>
#include <penstock/base/error.hpp>

namespace penstock {
namespace {

// Elements whose dtype and shape all samples share are a raw field; others carry a .npy header of their own.
struct ElementsOfField {
  DType dtype;
  Shape shape;
  bool fixed = true;
};

class RecordsIndexer {
 public:
  RecordsIndexer(IndexBuilder& builder, std::uint32_t file, const LmdbListing& listing, LmdbRecords& records,
                 LmdbRecords::Kind kind)
      : builder_(builder), file_(file), listing_(listing), records_(records), kind_(kind) {}

  /// Returns the members of records that were left out.
  std::uint64_t run() {
    std::uint64_t left_out = 0;
    visit([&](const LmdbListing::Value&, std::uint64_t without) {
      left_out += without;
      for (const RecordField& field : fields_) learn(field);
    });
    visit([&](const LmdbListing::Value& value, std::uint64_t) {
      builder_.add_sample(listing_.name(value));
      for (const RecordField& field : fields_) set(field);
    });
    return left_out;
  }

 private:
  template <typename Visitor>
  void visit(const Visitor& visitor) {
    for (const LmdbListing::Value& value : listing_.values()) {
      try {
        visitor(value, records_.read(kind_, value, fields_));
      } catch (const Error& error) {
        throw error.in({.key = std::string(listing_.name(value)), .offset = value.offset});
      }
    }
  }

  void learn(const RecordField& field) {
    const auto* elements = std::get_if<RecordField::Elements>(&field.value);
    if (elements == nullptr) return;
    const auto [place, added] = elements_.try_emplace(field.name, ElementsOfField{elements->dtype, elements->shape});
    if (place->second.dtype != elements->dtype || place->second.shape != elements->shape) place->second.fixed = false;
  }

  void set(const RecordField& field) {
    if (const auto* encoded = std::get_if<RecordField::Encoded>(&field.value)) {
      FieldSchema schema = field_from_extension(field.name);
      schema.name = field.name;
      builder_.set(builder_.field(schema), Extent{file_, encoded->offset, encoded->length});
    } else if (const auto* text = std::get_if<RecordField::Text>(&field.value)) {
      const Piece piece = inline_piece(std::as_bytes(std::span(text->text)));
      builder_.set(builder_.field({.name = field.name, .codec = text->codec}), {&piece, 1});
    } else {
      set_elements(field.name, std::get<RecordField::Elements>(field.value));
    }
  }

  void set_elements(const std::string& name, const RecordField::Elements& elements) {
    const Extent extent{file_, elements.offset, elements.length};
    const ElementsOfField& known = elements_.at(name);
    if (known.fixed) {
      builder_.set(
          builder_.field({.name = name, .codec = "raw", .dtype = known.dtype, .shape = known.shape, .fixed = true}),
          extent);
      return;
    }
    const std::string header = npy_header_text(elements.dtype, elements.shape);
    const Piece pieces[] = {
        inline_piece(std::as_bytes(std::span(header))),
        {.kind = Piece::Kind::extent, .extent = extent, .length = extent.length, .inline_bytes = {}}};
    builder_.set(builder_.field({.name = name, .codec = "npy"}), pieces);
  }

  IndexBuilder& builder_;
  const std::uint32_t file_;
  const LmdbListing& listing_;
  LmdbRecords& records_;
  const LmdbRecords::Kind kind_;
  std::vector<RecordField> fields_;
  std::map<std::string, ElementsOfField> elements_;
};

}  // namespace

std::uint64_t index_records(IndexBuilder& builder, std::uint32_t file, const LmdbListing& listing, LmdbRecords& records,
                            LmdbRecords::Kind kind) {
  return RecordsIndexer(builder, file, listing, records, kind).run();
}

}  // namespace penstock
