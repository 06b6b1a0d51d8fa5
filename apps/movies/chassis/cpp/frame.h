#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace chassis {

/** Units: bytes, without the length field. */
constexpr uint32_t kFrameLimit = 16u << 20;

/**
 * One message on the wire: `u32 length`, and either a header frame, which is a subset of THeader's (the binary protocol, no
 * transforms, one kind of information), or the message itself:
 *
 *     0x0FFF u16 · flags 0 u16 · sequence u32 · words of the header u16 ·
 *     header: varint protocol 0 · varint transforms 0 · { varint 1 · varint pairs · pairs of { varint length · bytes } } · zeros
 * · message
 *
 * Own code, since the stock THeaderTransport is compact by default and hides the moments that spans are made of. The
 * views point into the parsed bytes.
 */
struct Frame {
  bool has_header = false;
  uint32_t sequence = 0;
  /** `00-TRACE-SPAN-FLAGS`; empty if absent. */
  std::string_view traceparent;
  /** The request's remaining time. Units: ms, decimal. */
  std::string_view deadline;
  /** `queue_ns,application_ns,cpu_ns` of an answer. */
  std::string_view times;
  std::string_view message;

  /** Parses a frame without its length field; nullopt if malformed. */
  static std::optional<Frame> parse(std::string_view body);
};

/** The callee's times, from its answer. Units: ns. */
struct Times {
  int64_t queue = 0, application = 0, cpu = 0;

  /** Parses three numbers of up to 18 digits, separated by commas; nullopt if malformed. */
  static std::optional<Times> parse(std::string_view text);
};

/** Name and sequence of a message of the strict binary protocol. */
struct MessageHead {
  std::string_view name;
  int32_t sequence = 0;

  /** nullopt if the message is not a call. */
  static std::optional<MessageHead> parse_call(std::string_view message);
};

/** Whether a reply holds a declared exception, whose field is 1, rather than a result, whose field is 0. */
bool is_refusal(std::string_view reply);

using Pairs = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/** Length and header that precede a message of `size` bytes in a header frame. */
std::string header_before(uint32_t sequence, Pairs pairs, size_t size);

/** The length that precedes a message of `size` bytes in a plain frame. */
std::string length_before(size_t size);

}  // namespace chassis
