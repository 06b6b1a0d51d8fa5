#pragma once

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <memory>
#include <string_view>

#include "frame.h"

namespace chassis {

using Buffer = apache::thrift::transport::TMemoryBuffer;
using Protocol = apache::thrift::protocol::TBinaryProtocolT<Buffer>;

/** The longest list, so that a count in a few bytes does not allocate much. Lists have 100 entries, counters some hundred. */
constexpr int32_t kContainerLimit = 4096;

/** The strict binary protocol on a buffer. */
inline std::shared_ptr<Protocol> protocol_on(std::shared_ptr<Buffer> buffer) {
  return std::make_shared<Protocol>(std::move(buffer), static_cast<int32_t>(kFrameLimit), kContainerLimit, true, true);
}

/** Reads bytes in place, without a copy. */
inline std::shared_ptr<Protocol> protocol_reading(std::string_view message) {
  // Shared by all buffers; otherwise each would make its own.
  static const auto limits = std::make_shared<apache::thrift::TConfiguration>(static_cast<int>(kFrameLimit));
  // An observed buffer is not written to.
  auto bytes = reinterpret_cast<uint8_t*>(const_cast<char*>(message.data()));
  return protocol_on(std::make_shared<Buffer>(bytes, static_cast<uint32_t>(message.size()), Buffer::OBSERVE, limits));
}

/** What was written. */
inline std::string_view written(Buffer& buffer) {
  uint8_t* bytes;
  uint32_t size;
  buffer.getBuffer(&bytes, &size);
  return {reinterpret_cast<char*>(bytes), size};
}

}  // namespace chassis
