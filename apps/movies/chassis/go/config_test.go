package chassis

import (
	"slices"
	"strings"
	"testing"
)

const good = `# a comment
service=plot
id=6
instance=1
listen=127.0.0.1:4000
threads=8
queue=64
spans=
secret=
data=
upstream.ads=127.0.0.1:1, 127.0.0.1:2
cache.movies=127.0.0.1:3
store.movies=postgresql://movies@/movies?host=/run/x&port=5432
call.ads.deadline_ms=20
optional=ads,movie-recommender
own=7
`

func TestConfig(t *testing.T) {
	c, err := ParseConfig(good, "a.conf", "own")
	if err != nil {
		t.Fatal(err)
	}
	ads, _ := c.addresses("upstream.ads")
	stores, _ := c.texts("store.movies")
	limit, _ := c.limitOf("ads")
	none, _ := c.limitOf("plot")
	own, _ := c.Number("own", 3, 1, 9)
	other, _ := c.Number("other", 3, 1, 9)
	if c.Service != "plot" || c.ID != 6 || c.Instance != 1 || c.Threads != 8 || c.Queue != 64 || !c.Optional["movie-recommender"] ||
		len(ads) != 2 || ads[1] != "127.0.0.1:2" || len(stores) != 1 || limit != 20 || none != 0 || own != 7 || other != 3 {
		t.Fatalf("%+v", c)
	}
}

func TestEmptyIsNone(t *testing.T) {
	text := strings.NewReplacer("cache.movies=127.0.0.1:3", "cache.movies=", "deadline_ms=20", "deadline_ms=").Replace(good)
	c, err := ParseConfig(text+"upstream.plot=\n", "a.conf", "own")
	if err != nil {
		t.Fatal(err)
	}
	if limit, err := c.limitOf("ads"); limit != 0 || err != nil {
		t.Errorf("%d, %v", limit, err)
	}
	if _, err := c.addresses("cache.movies"); err == nil || !strings.Contains(err.Error(), "`cache.movies` is missing") {
		t.Error(err)
	}
	if names := c.upstreams(); slices.Contains(names, "plot") {
		t.Error(names)
	}
}

func TestConfigErrors(t *testing.T) {
	check := func(from, to, want string) {
		t.Helper()
		_, err := ParseConfig(strings.Replace(good, from, to, 1), "a.conf", "own")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "a.conf:") {
			t.Errorf("%s: %v", to, err)
		}
	}
	check("threads=8", "", "`threads` is missing")
	check("threads=8", "threads=0", "`threads` is `0`, and takes 1 to 1024")
	check("threads=8", "threads=many", "`threads` is `many`")
	check("threads=8", "threads 8", "`threads 8` is not key=value")
	check("threads=8", "threads=8\nthreads=8", "`threads` is there twice")
	check("own=7", "colour=red", "`colour` is not a key")
	check("own=7", "upstream.=a:1", "`upstream.` is not a key")
	check("listen=127.0.0.1:4000", "listen=4000", "`listen` has `4000`, and takes HOST:PORT")
	check("127.0.0.1:2", "127.0.0.1:70000", "`upstream.ads` has `127.0.0.1:70000`")
	check("cache.movies=127.0.0.1:3", "cache.movies=,", "`cache.movies` takes at least one address")
	check("deadline_ms=20", "deadline_ms=0", "`call.ads.deadline_ms` is `0`")
	check("secret=", "secret=abc", "`secret` takes 64 hex digits or nothing")
	if _, err := ParseConfig(good, "a.conf"); err == nil {
		t.Error("a key of another service was taken")
	}
}
