package chassis

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// Source of these: the contract of the application.
const (
	pingEach = 50 * time.Millisecond
	giveUp   = 20 * time.Second
	// A ping is answered however busy the service is, so within microseconds.
	pingTakes = time.Second
)

// Run serves until a signal or `drain` ends the service, and returns its exit code. `ownKeys` are the configuration
// keys that the service itself defines.
func Run(name string, make func(*Service) (Processor, error), ownKeys ...string) int {
	log := stderrLog(name, 0)
	if len(os.Args) != 2 {
		log.Error("usage: movies-" + name + " CONFIGFILE")
		return 1
	}
	config, err := ReadConfig(os.Args[1], ownKeys...)
	if err == nil && config.Service != name {
		err = fmt.Errorf("`service` is `%s`, and this program is that of %s", config.Service, name)
	}
	if err == nil {
		log = stderrLog(name, config.Instance)
		err = run(config, log, make)
	}
	if err != nil {
		log.Error(err.Error())
		return 1
	}
	return 0
}

func run(config *Config, log *Log, make func(*Service) (Processor, error)) error {
	service, err := newService(config, log)
	if err != nil {
		return err
	}
	defer service.spans.close()
	processor, err := make(service)
	if err != nil {
		return err
	}
	server, err := listen(service, processor)
	if err != nil {
		return err
	}
	ending, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go server.acceptAll()
	ready := readiness(ending, service)
	for {
		select {
		case err := <-ready:
			if err != nil {
				return err
			}
			fmt.Printf("ready %s %s\n", config.Service, config.Listen)
			ready = nil
			continue
		case <-ending.Done():
		case <-service.drained:
		}
		server.end()
		return nil
	}
}

// readiness tells when the upstreams that are needed have answered.
func readiness(ctx context.Context, s *Service) chan error {
	ready := make(chan error, 1)
	go func() {
		until := time.Now().Add(giveUp)
		for _, name := range s.Config.upstreams() {
			if s.Config.Optional[name] {
				continue
			}
			addresses, _ := s.Config.addresses("upstream." + name)
			for _, address := range addresses {
				if err := awaitPing(ctx, address, until); err != nil {
					ready <- fmt.Errorf("upstream %s at %s did not answer a ping within %v: %w", name, address, giveUp, err)
					return
				}
			}
		}
		ready <- nil
	}()
	return ready
}

func awaitPing(ctx context.Context, address string, until time.Time) error {
	for {
		err := ping(ctx, address)
		if err == nil || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		time.Sleep(pingEach)
	}
}

func ping(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, pingTakes)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(pingTakes))
	out := newProtocol(nil)
	if err := out.WriteMessageBegin(ctx, "ping", thrift.CALL, 1); err != nil {
		return err
	}
	// Without arguments.
	if err := out.WriteFieldStop(ctx); err != nil {
		return err
	}
	message := out.bytes.Bytes()
	if _, err := conn.Write(append(lengthBefore(len(message)), message...)); err != nil {
		return err
	}
	body, err := readFrame(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	answer, err := parseHead(body)
	if err == nil && answer.kind != thrift.REPLY {
		err = fmt.Errorf("it answered with an exception")
	}
	return err
}
