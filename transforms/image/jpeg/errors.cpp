#include <string>

#include <jerror.h>

#include <penstock/error.hpp>
#include <transforms/image/jpeg/errors.hpp>

namespace penstock {

JpegErrors::JpegErrors() {
  jpeg_std_error(&errors_);
  errors_.error_exit = [](j_common_ptr codec) { fail(codec); };
  errors_.emit_message = [](j_common_ptr codec, int level) {
    if (level < 0 && codec->err->msg_code == JWRN_JPEG_EOF) fail(codec);
  };
  errors_.output_message = [](j_common_ptr) {};
  progress_.progress_monitor = [](j_common_ptr codec) {
    if (codec->is_decompressor == 0) return;
    if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number > kMaxScans) ERREXIT(codec, JERR_NOTIMPL);
  };
}

void JpegErrors::attach(j_common_ptr codec) {
  codec->err = &errors_;
  codec->client_data = this;
  (attached_[0] == nullptr ? attached_[0] : attached_[1]) = codec;
}

void JpegErrors::limit(j_decompress_ptr codec) {
  codec->progress = &progress_;
  codec->mem->max_memory_to_use = kMaxMemory;
}

void JpegErrors::fail(j_common_ptr codec) {
  std::longjmp(static_cast<JpegErrors*>(codec->client_data)->jump_, 1);
}

void JpegErrors::raise() {
  char text[JMSG_LENGTH_MAX];
  errors_.format_message(attached_[0], text);
  const int code = errors_.msg_code;
  for (const j_common_ptr codec : attached_) {
    if (codec != nullptr && codec->mem != nullptr) jpeg_abort(codec);
  }
  const std::string cause = std::string("jpeg: ") + text;
  switch (code) {
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_NO_BACKING_STORE:
    case JERR_SOF_UNSUPPORTED:
      throw Error::unsupported(cause);
    case JERR_OUT_OF_MEMORY:
      throw Error::resource(cause);
    default:
      throw Error::corrupt(cause);
  }
}

}  // namespace penstock
