package chassis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// Source of these: the contract of the application.
const (
	poolSize    = 8
	longestWait = time.Second
)

// connection has at most one question outstanding.
type connection struct {
	net.Conn
	reader   *bufio.Reader
	sequence uint32
}

// pool keeps connections to one address, which are made when they are needed.
type pool struct {
	address string
	// places has one for each connection that is in use.
	places chan struct{}

	mutex sync.Mutex
	idle  []*connection
}

func newPool(address string) *pool {
	return &pool{address: address, places: make(chan struct{}, poolSize)}
}

// take waits for a connection. Give it back with keep or lose.
//
// Errors: DeadlineSpent, Unavailable, connectionLost.
func (p *pool) take(ctx context.Context) (*connection, error) {
	if err := p.place(ctx); err != nil {
		return nil, err
	}
	for {
		c := p.takeIdle()
		if c == nil {
			break
		}
		if isAlive(c.Conn) && c.reader.Buffered() == 0 {
			return c, nil
		}
		c.Close()
	}
	var dialer net.Dialer
	made, err := dialer.DialContext(ctx, "tcp", p.address)
	if err != nil {
		<-p.places
		if isTimeout(err) {
			return nil, DeadlineSpent(p.address + " was not connected in time")
		}
		return nil, connectionLost{err}
	}
	// Go sets TCP_NODELAY by itself.
	return &connection{Conn: made, reader: bufio.NewReader(made)}, nil
}

func (p *pool) place(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(longestWait)
	defer wait.Stop()
	select {
	case p.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return DeadlineSpent(fmt.Sprintf("%s: all %d connections stay in use", p.address, poolSize))
	case <-wait.C:
		return Unavailable(fmt.Sprintf("%s: all %d connections stay in use", p.address, poolSize))
	}
}

// takeIdle prefers the one used last, whose memory is likeliest in the processor's cache.
func (p *pool) takeIdle() *connection {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c
}

func (p *pool) keep(c *connection) {
	p.mutex.Lock()
	p.idle = append(p.idle, c)
	p.mutex.Unlock()
	<-p.places
}

// lose closes the connection. If the other end closed it, the idle ones are dead too.
func (p *pool) lose(c *connection, others bool) {
	c.Close()
	if others {
		p.mutex.Lock()
		for _, one := range p.idle {
			one.Close()
		}
		p.idle = nil
		p.mutex.Unlock()
	}
	<-p.places
}

// isAlive says whether nothing can be read: with no question outstanding, bytes or the end mean that it is of no use.
func isAlive(c net.Conn) bool {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	err = raw.Read(func(descriptor uintptr) bool {
		var one [1]byte
		_, _, why := syscall.Recvfrom(int(descriptor), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		alive = why == syscall.EAGAIN
		return true
	})
	return err == nil && alive
}

// asLost sorts errors of a socket into spent time and connections that are of no more use.
func asLost(name string, err error) error {
	switch {
	case isTimeout(err):
		return DeadlineSpent(name + " did not answer in time")
	case err == io.EOF:
		return connectionLost{fmt.Errorf("the connection ended before the answer")}
	}
	return connectionLost{err}
}
