package chassis

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// A write of 8 KiB, as the other chassis have it.
	spansBuffered = 64
	flushEach     = 100 * time.Millisecond
)

// spans collects spans and appends them to a file in whole records. It never drops one.
type spans struct {
	service, instance uint16
	log               *Log
	file              *os.File
	count             atomic.Int64
	done              chan struct{}

	mutex  sync.Mutex
	buffer []byte
}

// openSpans writes no spans if the configuration names no file.
func openSpans(c *Config, log *Log) (*spans, error) {
	s := &spans{service: c.ID, instance: c.Instance, log: log}
	if c.Spans == "" {
		return s, nil
	}
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	file, err := os.OpenFile(c.Spans, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	if _, err := file.Write(spanHead(c.ID, c.Instance, strings.TrimSpace(string(bootID)), wallOffset(), os.Getpid())); err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	s.file, s.done = file, make(chan struct{})
	go s.flushOften()
	return s, nil
}

func (s *spans) add(one *span) {
	if s.file == nil {
		return
	}
	one.service, one.instance = s.service, s.instance
	one.fill()
	s.count.Add(1)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.buffer = one.appendTo(s.buffer)
	if len(s.buffer) >= spansBuffered*recordSize {
		s.write()
	}
}

func (s *spans) flush() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.write()
}

func (s *spans) write() {
	if len(s.buffer) == 0 {
		return
	}
	if _, err := s.file.Write(s.buffer); err != nil {
		s.log.Error("spans are lost: they cannot be written", "bytes", len(s.buffer), "error", err.Error())
	}
	s.buffer = s.buffer[:0]
}

func (s *spans) flushOften() {
	often := time.NewTicker(flushEach)
	defer often.Stop()
	for {
		select {
		case <-often.C:
			s.flush()
		case <-s.done:
			return
		}
	}
}

func (s *spans) close() {
	if s.file == nil {
		return
	}
	close(s.done)
	s.flush()
	s.file.Close()
}
