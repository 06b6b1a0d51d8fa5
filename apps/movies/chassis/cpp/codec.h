#pragma once

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <memory>
#include <string_view>

namespace chassis {

using Buffer = apache::thrift::transport::TMemoryBuffer;
using Protocol = apache::thrift::protocol::TBinaryProtocolT<Buffer>;

/** The longest list, so that a count in a few bytes does not allocate much. Lists have 100 entries, counters some hundred. */
constexpr int32_t kContainerLimit = 4096;

/** The strict binary protocol on a buffer. */
std::shared_ptr<Protocol> protocol_on(std::shared_ptr<Buffer> buffer);

/** Reads bytes in place, without a copy. */
std::shared_ptr<Protocol> protocol_reading(std::string_view message);

/** What was written. */
std::string_view written(Buffer& buffer);

}  // namespace chassis
