#include "slice_transport.h"

#include <string.h>

G_DEFINE_TYPE(SliceTransport, slice_transport, THRIFT_TYPE_TRANSPORT)

static gboolean is_open(ThriftTransport *transport) { return transport != NULL; }

static gboolean done(ThriftTransport *transport, GError **error) {
  (void)error;
  return transport != NULL;
}

static gint32 read_some(ThriftTransport *transport, gpointer out, guint32 size, GError **error) {
  SliceTransport *slice = (SliceTransport *)transport;
  if (size > slice->left.size) {
    g_set_error(error, THRIFT_TRANSPORT_ERROR, THRIFT_TRANSPORT_ERROR_RECEIVE, "%u bytes are wanted, and %zu are left", size,
                slice->left.size);
    return -1;
  }
  memcpy(out, slice->left.data, size);
  slice->left.data += size;
  slice->left.size -= size;
  return (gint32)size;
}

static gboolean write_none(ThriftTransport *transport, const gpointer bytes, const guint32 size, GError **error) {
  (void)transport, (void)bytes, (void)size;
  g_set_error_literal(error, THRIFT_TRANSPORT_ERROR, THRIFT_TRANSPORT_ERROR_SEND, "a slice is only read");
  return FALSE;
}

/** The lengths in a message have been checked before it is read. */
static gboolean is_available(ThriftTransport *transport, glong size, GError **error) {
  (void)error;
  return size <= (glong)((SliceTransport *)transport)->left.size;
}

static void slice_transport_class_init(SliceTransportClass *class) {
  ThriftTransportClass *transport = THRIFT_TRANSPORT_CLASS(class);
  transport->is_open = is_open;
  transport->peek = done;
  transport->open = done;
  transport->close = done;
  transport->read = read_some;
  transport->read_all = read_some;
  transport->read_end = done;
  transport->write = write_none;
  transport->write_end = done;
  transport->flush = done;
  transport->checkReadBytesAvailable = is_available;
}

static void slice_transport_init(SliceTransport *slice) { slice->left = (struct slice){"", 0}; }
