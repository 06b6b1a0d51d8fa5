#pragma once

#include <thrift/c_glib/transport/thrift_transport.h>

#include "frame.h"

/**
 * Bytes that generated code reads, where they lie. ThriftMemoryBuffer, which answers are written to, moves all that is left
 * to its front at each read, so that a message of n fields would cost n².
 */
typedef struct {
  ThriftTransport parent;
  struct slice left;
} SliceTransport;

typedef struct {
  ThriftTransportClass parent;
} SliceTransportClass;

GType slice_transport_get_type(void);
