#include "codec.h"

#include <thrift/c_glib/protocol/thrift_binary_protocol.h>
#include <thrift/c_glib/transport/thrift_memory_buffer.h>

#include "slice_transport.h"

/** A buffer that one large answer made is not kept. */
#define KEPT (1 << 20)

struct codec *codec_new(void) {
  struct codec *codec = g_new0(struct codec, 1);
  codec->in = g_object_new(slice_transport_get_type(), NULL);
  // The frame's header takes less than 1 KiB of the frame limit.
  codec->out = g_object_new(THRIFT_TYPE_MEMORY_BUFFER, "buf_size", FRAME_LIMIT - 1024, NULL);
  codec->written = THRIFT_MEMORY_BUFFER(codec->out)->buf;
  codec->in_protocol = g_object_new(THRIFT_TYPE_BINARY_PROTOCOL, "transport", codec->in, NULL);
  codec->out_protocol = g_object_new(THRIFT_TYPE_BINARY_PROTOCOL, "transport", codec->out, NULL);
  codec->head = g_byte_array_new();
  return codec;
}

void codec_free(struct codec *codec) {
  g_object_unref(codec->in_protocol);
  g_object_unref(codec->out_protocol);
  g_object_unref(codec->in);
  g_object_unref(codec->out);
  g_byte_array_unref(codec->head);
  g_free(codec);
}

bool codec_read(struct codec *codec, struct slice message, ThriftStruct *out) {
  ((SliceTransport *)codec->in)->left = message;
  gchar *name = NULL;
  ThriftMessageType type;
  gint32 sequence;
  GError *error = NULL;
  bool ok = thrift_protocol_read_message_begin(codec->in_protocol, &name, &type, &sequence, &error) >= 0 &&
            thrift_struct_read(out, codec->in_protocol, &error) >= 0;
  g_free(name);
  g_clear_error(&error);
  return ok;
}

/** Nothing written. */
static void empty(struct codec *codec) {
  if (codec->written->len > KEPT) {
    // A GByteArray never shrinks its allocation, so replace it.
    g_byte_array_unref(codec->written);
    codec->written = THRIFT_MEMORY_BUFFER(codec->out)->buf = g_byte_array_new();
  }
  g_byte_array_set_size(codec->written, 0);
}

bool codec_write(struct codec *codec, const char *method, ThriftMessageType type, int32_t sequence, ThriftStruct *what) {
  empty(codec);
  GError *error = NULL;
  bool ok = thrift_protocol_write_message_begin(codec->out_protocol, method, type, sequence, &error) >= 0 &&
            thrift_struct_write(what, codec->out_protocol, &error) >= 0;
  g_clear_error(&error);
  return ok;
}

void codec_write_exception(struct codec *codec, const char *method, int32_t sequence, int type, const char *what) {
  // Field by field, as objects of ThriftApplicationException leave 48 bytes behind. The buffer has room, so nothing fails.
  ThriftProtocol *protocol = codec->out_protocol;
  empty(codec);
  thrift_protocol_write_message_begin(protocol, method, T_EXCEPTION, sequence, NULL);
  thrift_protocol_write_field_begin(protocol, "message", T_STRING, 1, NULL);
  thrift_protocol_write_string(protocol, what, NULL);
  thrift_protocol_write_field_begin(protocol, "type", T_I32, 2, NULL);
  thrift_protocol_write_i32(protocol, type, NULL);
  thrift_protocol_write_field_stop(protocol, NULL);
}
