package chassis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

const (
	// More than 30 callers with 8 connections each have, and less than the 1024 descriptors of a process.
	mostPeers = 512
	// Source: the contract of the application.
	longestEnd = 2 * time.Second
	// A caller that reads no answer for this long has given up.
	longestWrite = usualDeadline
)

// Processor is the dispatcher that Thrift generates for a handler.
type Processor interface {
	GetProcessorFunction(method string) (thrift.TProcessorFunction, bool)
}

// server answers requests: a goroutine for each connection, of which `threads` work at once and `queue` more may wait.
type server struct {
	service   *Service
	processor Processor
	listener  net.Listener

	places  chan struct{}
	waiting atomic.Int64
	// One for each connection.
	work sync.WaitGroup

	mutex    sync.Mutex
	peers    map[net.Conn]bool
	draining bool
}

func listen(s *Service, p Processor) (*server, error) {
	listener, err := net.Listen("tcp", s.Config.Listen)
	if err != nil {
		return nil, fmt.Errorf("`listen`: %w", err)
	}
	return &server{
		service: s, processor: p, listener: listener,
		places: make(chan struct{}, s.Config.Threads), peers: map[net.Conn]bool{},
	}, nil
}

// acceptAll returns when the server ends.
func (s *server) acceptAll() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.service.Log.Error("a connection cannot be accepted", "error", err.Error())
			time.Sleep(10 * time.Millisecond) // Descriptors do not come back at once.
			continue
		}
		if !s.add(conn) {
			conn.Close()
			continue
		}
		s.service.counters.connections.Add(1)
		go func() {
			defer s.remove(conn)
			s.serve(conn)
		}()
	}
}

func (s *server) add(peer net.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.peers) >= mostPeers {
		s.service.Log.Error("a connection was refused: there are too many", "limit", mostPeers)
		return false
	}
	if s.draining {
		return false
	}
	s.peers[peer] = true
	s.work.Add(1)
	return true
}

func (s *server) remove(peer net.Conn) {
	s.mutex.Lock()
	delete(s.peers, peer)
	s.mutex.Unlock()
	peer.Close()
	s.work.Done()
}

func (s *server) serve(peer net.Conn) {
	reader := bufio.NewReaderSize(peer, 16<<10)
	for {
		body, err := readFrame(reader)
		x := &exchange{server: s, peer: peer}
		x.span.stamps[0] = Now()
		if err == nil {
			err = x.parse(body)
		}
		if errors.Is(err, errBadFrame) {
			s.service.counters.badFrames.Add(1)
		}
		if err != nil || !x.run() {
			return
		}
	}
}

// end takes no more connections, answers the requests that have been received, and closes connections then.
func (s *server) end() {
	s.mutex.Lock()
	s.draining = true
	s.listener.Close()
	for peer := range s.peers {
		// Leaves the bytes already received readable, followed by the end of the stream. An error means that it is closed already.
		_ = peer.(*net.TCPConn).CloseRead()
	}
	s.mutex.Unlock()
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(longestEnd):
		s.service.Log.Error("requests were left at the end", "waiting", s.waiting.Load(), "at_work", len(s.places))
	}
}

// exchange is one request and its answer.
type exchange struct {
	server *server
	peer   net.Conn
	frame  frame
	head   head
	// -1: of the chassis, or none.
	method  int
	request Request
	given   time.Duration
	span    span
	out     *protocol
}

func (x *exchange) parse(body []byte) (err error) {
	if x.frame, err = parseFrame(body); err != nil {
		return err
	}
	if x.head, err = parseHead(x.frame.message); err != nil {
		return err
	}
	if x.head.kind != thrift.CALL {
		return errBadFrame
	}
	x.span.bytesIn = uint32(4 + len(body))
	x.method = methodOf(x.server.service.Config.Service, x.head.name)
	x.out = newProtocol(nil)
	x.given = usualDeadline
	if ms, is := parseDecimal(x.frame.deadline); is {
		x.given = time.Duration(ms) * time.Millisecond
	}
	if x.request.Trace, x.request.HasTrace = parseTrace(x.frame.traceparent); x.request.sampled() {
		x.span.parent = x.request.Trace.Span
		x.request.Trace.Span = newSpanID()
	}
	return nil
}

// run returns false if the connection must be closed.
func (x *exchange) run() bool {
	if x.method < 0 {
		// The chassis' own methods take no time, and are answered however busy the service is.
		_, sound := x.call(context.Background())
		return sound && x.answer(ok, 0)
	}
	s := x.server
	if !s.enter() {
		s.service.counters.overloaded.Add(1)
		x.refuse(fmt.Sprintf("overloaded: %d requests wait already", s.service.Config.Queue))
		return x.answer(failed, 0)
	}
	// The processor clock belongs to a thread, so the goroutine must stay on one.
	runtime.LockOSThread()
	cpu := threadCPU()
	x.span.stamps[1] = Now()
	result, sound := x.handle()
	cpu = threadCPU() - cpu
	runtime.UnlockOSThread()
	<-s.places
	return sound && x.answer(result, cpu)
}

// enter waits for a place to work; false if too many wait.
func (s *server) enter() bool {
	select {
	case s.places <- struct{}{}:
		return true
	default:
	}
	if s.waiting.Add(1) > int64(s.service.Config.Queue) {
		s.waiting.Add(-1)
		return false
	}
	s.places <- struct{}{}
	s.waiting.Add(-1)
	return true
}

func (x *exchange) handle() (result outcome, sound bool) {
	spent := time.Duration(x.span.stamps[1] - x.span.stamps[0])
	if spent >= x.given {
		x.refuse(fmt.Sprintf("deadline: %d ms were spent before the request was begun", x.given.Milliseconds()))
		return deadline, true
	}
	ctx, cancel := context.WithTimeout(withRequest(context.Background(), &x.request), x.given-spent)
	defer cancel()
	var err error
	if err, sound = x.call(ctx); !sound {
		return failed, false
	}
	switch result = outcomeOf(err); result {
	case deadline:
		var said DeadlineSpent
		if !errors.As(err, &said) {
			said = DeadlineSpent(firstLine(err.Error()))
		}
		x.refuse(said.Error())
	case failed:
		what := err.Error()
		if !errors.As(err, new(Unavailable)) && !errors.As(err, new(Overloaded)) {
			x.server.service.Log.Error("a handler failed", "method", x.head.name, "error", what)
			what = "internal: " + what
		}
		x.refuse(what)
	}
	return result, true
}

// call returns the handler's error; `sound` is false if the arguments could not be decoded, which counts as a bad frame.
func (x *exchange) call(ctx context.Context) (err error, sound bool) {
	function, known := x.server.processor.GetProcessorFunction(x.head.name)
	if !known {
		x.out.writeException(x.head.name, x.head.sequence, thrift.UNKNOWN_METHOD, "`"+x.head.name+"` is not a method of this service")
		return nil, true
	}
	defer func() {
		if why := recover(); why != nil {
			err, sound = fmt.Errorf("%v", why), true
		}
	}()
	in := newProtocol(x.head.body)
	if sound, err = function.Process(ctx, x.head.sequence, in, x.out); !sound {
		x.server.service.counters.badFrames.Add(1)
	}
	x.span.stamps[2], x.span.stamps[3] = in.decoded, x.out.answered
	return err, sound
}

func (x *exchange) refuse(what string) {
	x.out.writeException(x.head.name, x.head.sequence, thrift.INTERNAL_ERROR, what)
}

func (x *exchange) answer(result outcome, cpu int64) bool {
	x.span.stamps[4] = Now()
	x.span.fill()
	queue, application := x.span.stamps[1]-x.span.stamps[0], x.span.stamps[3]-x.span.stamps[2]
	service := x.server.service
	if x.method >= 0 {
		c := &service.counters
		c.requests.Add(1)
		c.outcome(result)
		c.queueNS.Add(queue)
		c.applicationNS.Add(application)
		c.cpuNS.Add(cpu)
	}
	message := x.out.bytes.Bytes()
	before := lengthBefore(len(message))
	if x.frame.hasHeader {
		times := make([]byte, 0, 48)
		times = append(strconv.AppendInt(times, queue, 10), ',')
		times = append(strconv.AppendInt(times, application, 10), ',')
		times = strconv.AppendInt(times, cpu, 10)
		before = headerBefore(x.frame.sequence, len(message), pair{"s", string(times)})
	}
	x.peer.SetWriteDeadline(time.Now().Add(longestWrite))
	parts := net.Buffers{before, message}
	_, err := parts.WriteTo(x.peer)
	if x.method >= 0 && x.request.sampled() {
		x.span.stamps[5] = Now()
		x.span.kind, x.span.method, x.span.outcome, x.span.cpuNS = serverSpan, uint16(x.method), result, cpu
		x.span.trace, x.span.span = x.request.Trace.ID, x.request.Trace.Span
		x.span.bytesOut = uint32(len(before) + len(message))
		service.spans.add(&x.span)
	}
	return err == nil
}
