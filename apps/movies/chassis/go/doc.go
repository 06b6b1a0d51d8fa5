// Package chassis is what all services in Go have in common: configuration, the server, calls of other services, the
// database and the cache behind them, deadlines, counters, logs and spans.
//
// A service makes its handler of these in main, and calls [Run].
package chassis
