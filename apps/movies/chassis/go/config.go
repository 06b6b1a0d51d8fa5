package chassis

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Config is a service's configuration: a file of key=value lines, the only argument of its program.
type Config struct {
	file   string
	values map[string]string

	Service  string
	ID       uint16
	Instance uint16
	Listen   string
	Threads  int
	Queue    int
	Spans    string
	// Secret is the key of tokens; empty if the service needs none.
	Secret   string
	Optional map[string]bool
}

var (
	neededKeys = []string{"service", "id", "instance", "listen", "threads", "queue", "spans", "secret", "data"}
	families   = regexp.MustCompile(`^(upstream\.[a-z-]+|cache\.[a-z]+|store\.[a-z]+|call\.[a-z-]+\.deadline_ms)$`)
	hexSecret  = regexp.MustCompile(`^([0-9a-f]{64})?$`)
)

// ReadConfig reads a file. The service may take keys of its own, which need not be there.
func ReadConfig(file string, ownKeys ...string) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return ParseConfig(string(text), file, ownKeys...)
}

// ParseConfig takes the text of a file. Errors name the file and the key.
func ParseConfig(text, file string, ownKeys ...string) (*Config, error) {
	known := map[string]bool{"optional": true}
	for _, key := range append(ownKeys, neededKeys...) {
		known[key] = true
	}
	c := &Config{file: file, values: map[string]string{}, Optional: map[string]bool{}}
	seen := map[string]bool{}
	for at, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		place := fmt.Sprintf("%s:%d", file, at+1)
		key, value, found := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !found {
			return nil, fmt.Errorf("%s: `%s` is not key=value", place, line)
		}
		if !known[key] && !families.MatchString(key) {
			return nil, fmt.Errorf("%s: `%s` is not a key", place, key)
		}
		if seen[key] {
			return nil, fmt.Errorf("%s: `%s` is there twice", place, key)
		}
		seen[key] = true
		// An empty one that names a service or a domain is as if it were not there.
		if value = strings.TrimSpace(value); value != "" || known[key] {
			c.values[key] = value
		}
	}
	for _, key := range neededKeys {
		if _, there := c.values[key]; !there {
			return nil, fmt.Errorf("%s: `%s` is missing", file, key)
		}
	}
	return c, c.fill()
}

func (c *Config) fill() error {
	c.Service, c.Spans = c.values["service"], c.values["spans"]
	var id, instance int
	err := errors.Join(
		c.number("id", 0, 0xffff, &id),
		c.number("instance", 0, 0xffff, &instance),
		c.number("threads", 1, 1024, &c.Threads),
		c.number("queue", 1, 65535, &c.Queue),
	)
	c.ID, c.Instance = uint16(id), uint16(instance)
	if c.Secret = c.values["secret"]; !hexSecret.MatchString(c.Secret) {
		// The value itself does not go into a log.
		err = errors.Join(err, fmt.Errorf("%s: `secret` takes 64 hex digits or nothing", c.file))
	}
	for _, name := range split(c.values["optional"]) {
		c.Optional[name] = true
	}
	c.Listen = c.values["listen"]
	err = errors.Join(err, c.address("listen", c.Listen))
	for key := range c.values {
		switch family, rest, _ := strings.Cut(key, "."); family {
		case "upstream", "cache":
			_, bad := c.addresses(key)
			err = errors.Join(err, bad)
		case "store":
			_, bad := c.texts(key)
			err = errors.Join(err, bad)
		case "call":
			_, bad := c.limitOf(strings.TrimSuffix(rest, ".deadline_ms"))
			err = errors.Join(err, bad)
		}
	}
	return err
}

// Number reads a key of the service's own; `usual` if the key is absent.
func (c *Config) Number(key string, usual, least, most int) (int, error) {
	if _, there := c.values[key]; !there {
		return usual, nil
	}
	var n int
	err := c.number(key, least, most, &n)
	return n, err
}

// limitOf is the time limit configured for calls to one callee. Units: ms; 0 if none.
func (c *Config) limitOf(callee string) (int, error) {
	return c.Number("call."+callee+".deadline_ms", 0, 1, 600_000)
}

// upstreams are the names of the services that are called.
func (c *Config) upstreams() []string {
	var names []string
	for key := range c.values {
		if name, is := strings.CutPrefix(key, "upstream."); is {
			names = append(names, name)
		}
	}
	return names
}

// addresses are none for a cache that is `none`.
func (c *Config) addresses(key string) ([]string, error) {
	if strings.HasPrefix(key, "cache.") && c.values[key] == "none" {
		return nil, nil
	}
	all, err := c.texts(key)
	for _, one := range all {
		err = errors.Join(err, c.address(key, one))
	}
	return all, err
}

func (c *Config) texts(key string) ([]string, error) {
	value, there := c.values[key]
	if !there {
		return nil, fmt.Errorf("%s: `%s` is missing", c.file, key)
	}
	all := split(value)
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: `%s` takes at least one address", c.file, key)
	}
	return all, nil
}

func (c *Config) number(key string, least, most int, to *int) error {
	n, err := strconv.Atoi(c.values[key])
	if err != nil || n < least || n > most {
		return fmt.Errorf("%s: `%s` is `%s`, and takes %d to %d", c.file, key, c.values[key], least, most)
	}
	*to = n
	return nil
}

func (c *Config) address(key, given string) error {
	host, port, err := net.SplitHostPort(given)
	n, bad := strconv.Atoi(port)
	if err != nil || bad != nil || host == "" || n < 1 || n > 65535 {
		return fmt.Errorf("%s: `%s` has `%s`, and takes HOST:PORT", c.file, key, given)
	}
	return nil
}

func split(text string) []string {
	var parts []string
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
