//go:build tools

// Package exporter asks for memcached_exporter in a pinned version; `cargo xtask ci` builds it.
package exporter

import _ "github.com/prometheus/memcached_exporter/cmd/memcached_exporter"
