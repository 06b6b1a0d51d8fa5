package chassis

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// errorsPerSecond is from the contract of the application.
const errorsPerSecond = 10

// Log writes JSON lines, at most 10 errors in a second.
type Log struct {
	lines *slog.Logger

	mutex   sync.Mutex
	second  int64
	written int
	leftOut int
}

func newLog(to io.Writer, service string, instance uint16) *Log {
	handler := slog.NewJSONHandler(to, &slog.HandlerOptions{ReplaceAttr: asContract})
	return &Log{lines: slog.New(handler).With("service", service, "instance", instance)}
}

func stderrLog(service string, instance uint16) *Log { return newLog(os.Stderr, service, instance) }

func asContract(groups []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.TimeKey:
		return slog.Int64("ts", a.Value.Time().UnixMilli())
	case slog.LevelKey:
		return slog.String(slog.LevelKey, strings.ToLower(a.Value.String()))
	}
	return a
}

// Info is for the few things that happen once.
func (l *Log) Info(what string, pairs ...any) { l.lines.Info(what, pairs...) }

// Error names in `left_out` how many before it were not written.
func (l *Log) Error(what string, pairs ...any) {
	l.mutex.Lock()
	if now := time.Now().Unix(); now != l.second {
		l.second, l.written = now, 0
	}
	l.written++
	if l.written > errorsPerSecond {
		l.leftOut++
		l.mutex.Unlock()
		return
	}
	if l.leftOut > 0 {
		pairs = append(pairs, "left_out", l.leftOut)
		l.leftOut = 0
	}
	l.mutex.Unlock()
	l.lines.Log(context.Background(), slog.LevelError, what, pairs...)
}
