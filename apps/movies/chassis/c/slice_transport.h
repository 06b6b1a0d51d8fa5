#pragma once

#include <thrift/c_glib/transport/thrift_transport.h>

#include "frame.h"

/**
 * A transport from which generated code reads bytes in place. ThriftMemoryBuffer, which answers are written to, moves the
 * remaining bytes to its front at each read, so that a message of n fields would cost n².
 */
typedef struct {
  ThriftTransport parent;
  struct slice left;
} SliceTransport;

typedef struct {
  ThriftTransportClass parent;
} SliceTransportClass;

GType slice_transport_get_type(void);
