//go:build tools

// Package jaeger names the program that build.sh makes, so that `go mod tidy` keeps its dependencies.
package jaeger

import _ "github.com/jaegertracing/jaeger/cmd/all-in-one"
