#pragma once

#include <thrift/c_glib/protocol/thrift_protocol.h>
#include <thrift/c_glib/thrift_struct.h>

#include "frame.h"
#include "message.h"

/** Reads and writes messages; one for each thread. Objects of Thrift's library leave 48 bytes of each behind at its end. */
struct codec {
  ThriftTransport *in, *out;
  ThriftProtocol *in_protocol, *out_protocol;
  /** What was written. */
  GByteArray *written;
  /** Room for the header that precedes it on the wire. */
  GByteArray *head;
};

struct codec *codec_new(void);
void codec_free(struct codec *codec);

/** The structure of a message that passed `message_check`, into `out`; false if a required field is missing. */
bool codec_read(struct codec *codec, struct slice message, ThriftStruct *out);
/** Replaces the previous message. False if it exceeds the frame limit. */
bool codec_write(struct codec *codec, const char *method, ThriftMessageType type, int32_t sequence, ThriftStruct *what);
/** An application exception. */
void codec_write_exception(struct codec *codec, const char *method, int32_t sequence, int type, const char *what);
