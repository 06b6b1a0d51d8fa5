"""What the services in Python share: configuration, frames, deadlines, spans, counters, and the server.

The services in Python call no others and have no store, so there is no pool of connections here.
"""
