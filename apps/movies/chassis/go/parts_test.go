package chassis

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSpanLayout(t *testing.T) {
	s := span{
		service: 0x0102, instance: 0x0304, peer: 0x0506, method: 0x0708, kind: storeSpan, outcome: deadline, flags: wasRetried,
		span: 0x1122334455667788, parent: 0x99, stamps: [6]int64{1, 2, 3, 4, 5, 6}, cpuNS: 7, bytesIn: 8, bytesOut: 9,
	}
	for at := range s.trace {
		s.trace[at] = byte(0xa0 + at)
	}
	want := "53504e31" + "0201" + "0403" + "0605" + "0807" + "02" + "03" + "0100" + "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf" +
		"8877665544332211" + "9900000000000000" + "0100000000000000" + "0200000000000000" + "0300000000000000" +
		"0400000000000000" + "0500000000000000" + "0600000000000000" + "0700000000000000" + "08000000" + "09000000" + strings.Repeat("00", 16)
	if got := hex.EncodeToString(s.appendTo(nil)); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func TestSpanFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.spans")
	s, err := openSpans(&Config{ID: 27, Instance: 3, Spans: file}, stderrLog("x", 0))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		s.add(&span{stamps: [6]int64{5, 0, 7}})
	}
	s.close()
	got, err := os.ReadFile(file)
	if err != nil || len(got) != 101*recordSize || s.count.Load() != 100 {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	le := binary.LittleEndian
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if le.Uint32(got) != headMagic || le.Uint16(got[4:]) != 1 || le.Uint16(got[6:]) != 27 || le.Uint16(got[8:]) != 3 ||
		string(got[16:52]) != string(boot[:36]) || le.Uint64(got[64:]) != uint64(os.Getpid()) || le.Uint64(got[56:]) < 1<<60 {
		t.Errorf("head: %x", got[:recordSize])
	}
	// Stamps never go back.
	last := got[100*recordSize:]
	for at, want := range []uint64{5, 5, 7, 7, 7, 7} {
		if stamp := le.Uint64(last[48+8*at:]); stamp != want {
			t.Errorf("stamp %d: %d, want %d", at, stamp, want)
		}
	}
}

func TestClockIsMonotonicOne(t *testing.T) {
	for range 1000 {
		before := readClock(1) // CLOCK_MONOTONIC
		now := Now()
		after := readClock(1)
		// The common origin of both clocks may be wrong by 1 µs.
		if now < before-1000 || now > after+1000 {
			t.Fatalf("%d is not between %d and %d", now, before, after)
		}
	}
}

func TestConnectionToASilentDatabaseIsGivenUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c, err := ParseConfig("service=user\nid=28\ninstance=0\nlisten=127.0.0.1:1\nthreads=1\nqueue=1\nspans=\nsecret=\ndata=\n"+
		"store.users=postgresql://users@"+silent.Addr().String()+"/users?sslmode=disable", "a.conf")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newService(c, stderrLog("user", 0))
	if err != nil {
		t.Fatal(err)
	}
	store, err := s.Store("users")
	if err != nil {
		t.Fatal(err)
	}
	// Time enough to connect on a busy machine.
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if _, err := store.Get(ctx, "names", "ann", &struct{}{}); !errors.As(err, new(DeadlineSpent)) {
		t.Errorf("%v", err)
	}
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	// Its place in the pool is free then.
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Errorf("the connection stays: %v", err)
	}
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out, "plot", 2)
	for range 25 {
		l.Error("it \"failed\"", "error", "a\nb")
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) < errorsPerSecond || len(lines) > 2*errorsPerSecond {
		t.Errorf("%d lines", len(lines))
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
		t.Fatal(err)
	}
	if line["level"] != "error" || line["service"] != "plot" || line["instance"] != 2.0 || line["msg"] != "it \"failed\"" ||
		line["ts"].(float64) < 1e12 {
		t.Errorf("%v", line)
	}
}

func TestDecimal(t *testing.T) {
	check := func(text string, want int64, good bool) {
		t.Helper()
		if n, is := parseDecimal(text); n != want && good || is != good {
			t.Errorf("%q: %d, %v", text, n, is)
		}
	}
	check("0", 0, true)
	check("250", 250, true)
	check("999999999", 999999999, true)
	check("1000000000", 0, false)
	check("", 0, false)
	check("-1", 0, false)
	check("+1", 0, false)
	check("1.5", 0, false)
}
