#include "frame.h"

namespace chassis {
namespace {

constexpr uint16_t kMagic = 0x0fff;
/** Magic, flags, sequence, words. */
constexpr size_t kFixed = 10;
/** Strict binary protocol: version 1, message type. Source: Thrift binary protocol encoding. */
constexpr uint32_t kVersion = 0x80010000;
constexpr uint32_t kCall = 1, kReply = 2;
constexpr uint8_t kStruct = 12;

/** Reads numbers from bytes; after the end each read fails. */
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  size_t at() const { return at_; }
  bool at_end() const { return failed_ || at_ == bytes_.size(); }

  uint64_t big_endian(size_t size) {
    uint64_t value = 0;
    for (unsigned char byte : take(size)) value = value << 8 | byte;
    return value;
  }

  uint32_t varint() {
    uint32_t value = 0;
    // A number of 32 bits has at most 5 bytes.
    for (int shift = 0; shift < 35; shift += 7) {
      auto byte = static_cast<uint8_t>(big_endian(1));
      if (failed_) return 0;
      value |= static_cast<uint32_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }

  std::string_view take(size_t size) {
    if (failed_ || size > bytes_.size() - at_) {
      failed_ = true;
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

bool is_strict(std::string_view message) { return !message.empty() && message[0] == '\x80'; }

void append(std::string& out, uint64_t value, int size) {
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

void append_varint(std::string& out, size_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
}

}  // namespace

std::optional<Frame> Frame::parse(std::string_view body) {
  Frame frame;
  if (is_strict(body)) {
    frame.message = body;
    return frame;
  }
  Cursor fixed(body);
  auto magic = fixed.big_endian(2);
  auto flags = fixed.big_endian(2);
  frame.sequence = static_cast<uint32_t>(fixed.big_endian(4));
  std::string_view header = fixed.take(static_cast<size_t>(fixed.big_endian(2)) * 4);
  if (fixed.failed() || magic != kMagic || flags != 0) return std::nullopt;
  frame.has_header = true;
  frame.message = body.substr(fixed.at());

  Cursor cursor(header);
  if (cursor.varint() != 0 || cursor.varint() != 0) return std::nullopt;
  while (!cursor.at_end()) {
    uint32_t kind = cursor.varint();
    if (kind == 0) break;  // Padding.
    if (kind != 1) return std::nullopt;
    for (uint32_t left = cursor.varint(); left > 0 && !cursor.failed(); left--) {
      std::string_view key = cursor.take(cursor.varint());
      std::string_view value = cursor.take(cursor.varint());
      if (key == "traceparent") frame.traceparent = value;
      if (key == "d") frame.deadline = value;
      if (key == "s") frame.times = value;
    }
  }
  if (cursor.failed() || !is_strict(frame.message)) return std::nullopt;
  return frame;
}

std::optional<Times> Times::parse(std::string_view text) {
  Times times;
  size_t at = 0;
  for (int64_t* part : {&times.queue, &times.application, &times.cpu}) {
    if (part != &times.queue && (at == text.size() || text[at++] != ',')) return std::nullopt;
    const size_t begin = at;
    for (; at < text.size() && at - begin < 18 && text[at] >= '0' && text[at] <= '9'; at++) *part = *part * 10 + (text[at] - '0');
    if (at == begin) return std::nullopt;
  }
  return at == text.size() ? std::optional(times) : std::nullopt;
}

std::optional<MessageHead> MessageHead::parse_call(std::string_view message) {
  Cursor cursor(message);
  if (cursor.big_endian(4) != (kVersion | kCall)) return std::nullopt;
  MessageHead head;
  head.name = cursor.take(static_cast<size_t>(cursor.big_endian(4)));
  head.sequence = static_cast<int32_t>(cursor.big_endian(4));
  if (cursor.failed()) return std::nullopt;
  return head;
}

bool is_refusal(std::string_view reply) {
  Cursor cursor(reply);
  if (cursor.big_endian(4) != (kVersion | kReply)) return false;
  cursor.take(static_cast<size_t>(cursor.big_endian(4)));
  cursor.take(4);
  return cursor.big_endian(1) == kStruct && cursor.big_endian(2) == 1 && !cursor.failed();
}

std::string header_before(uint32_t sequence, Pairs pairs, size_t size) {
  std::string header(2, '\0');
  if (pairs.size() > 0) {
    header.push_back('\1');
    append_varint(header, pairs.size());
    for (const auto& [key, value] : pairs) {
      append_varint(header, key.size());
      header.append(key);
      append_varint(header, value.size());
      header.append(value);
    }
  }
  header.resize((header.size() + 3) / 4 * 4, '\0');

  std::string out;
  out.reserve(4 + kFixed + header.size());
  append(out, kFixed + header.size() + size, 4);
  append(out, kMagic, 2);
  append(out, 0, 2);
  append(out, sequence, 4);
  append(out, header.size() / 4, 2);
  return out += header;
}

std::string length_before(size_t size) {
  std::string out;
  append(out, size, 4);
  return out;
}

}  // namespace chassis
