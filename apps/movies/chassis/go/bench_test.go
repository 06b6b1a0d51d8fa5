package chassis

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"golang.org/x/sys/unix"

	"movies/idl"
)

// nothing is a handler whose calls cost only what the chassis does.
type nothing struct{ Base }

func (nothing) Apply(context.Context, idl.MovieId, idl.ReviewId, int32) error { return nil }

// drain takes what is written, so that no socket is measured.
type drain struct{ net.Conn }

func (drain) Write(bytes []byte) (int, error)  { return len(bytes), nil }
func (drain) SetWriteDeadline(time.Time) error { return nil }
func (drain) Close() error                     { return nil }
func (drain) Read([]byte) (int, error)         { return 0, io.EOF }

// BenchmarkServe is what a request costs in a server, from its bytes to those of the answer: `go test -bench Serve`.
// The difference of header and plain is what the header costs, that of traced and header the span.
func BenchmarkServe(b *testing.B) {
	out := newProtocol(nil)
	ctx := context.Background()
	args := idl.UpdateMovieApplyArgs{Movie: 1, Review: 2, Stars: 3}
	_ = out.WriteMessageBegin(ctx, "apply", thrift.CALL, 1)
	_ = args.Write(ctx, out)
	message := out.bytes.Bytes()
	traceparent := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"
	header := func(flag string) []byte {
		return append(headerBefore(1, len(message), pair{"traceparent", traceparent + flag}, pair{"d", "1000"}), message...)
	}
	serve := func(name string, question []byte) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			config := &Config{Service: "update-movie", ID: 27, Threads: 1, Queue: 1, Spans: filepath.Join(b.TempDir(), "spans")}
			service, err := newService(config, stderrLog("update-movie", 0))
			if err != nil {
				b.Fatal(err)
			}
			defer service.spans.close()
			s := &server{
				service: service, processor: idl.NewUpdateMovieProcessor(nothing{Base{service}}),
				places: make(chan struct{}, 1), peers: map[*peer]bool{},
			}
			p := &peer{drain{}}
			reader := bufio.NewReader(nil)
			cpu := readClock(unix.CLOCK_PROCESS_CPUTIME_ID)
			b.ResetTimer()
			for range b.N {
				reader.Reset(bytes.NewReader(question))
				body, err := readFrame(reader)
				x := &exchange{server: s, peer: p}
				x.span.stamps[0] = Now()
				if err != nil || x.parse(body) != nil || !s.begin(p) || !x.run() {
					b.Fatal("the request was not answered")
				}
				s.finish(p)
			}
			// What else runs on the machine changes this less than it does the time.
			b.ReportMetric(float64(readClock(unix.CLOCK_PROCESS_CPUTIME_ID)-cpu)/float64(b.N), "cpu-ns/op")
		})
	}
	serve("plain", append(lengthBefore(len(message)), message...))
	serve("header", header("0"))
	serve("traced", header("1"))
}
