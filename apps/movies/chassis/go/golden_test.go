package chassis

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"movies/idl"
)

const contract = "../../contract/"

// golden is a frame that all chassis are tested with.
type golden struct {
	name          string
	accept, frame bool
	bytes         []byte
}

func goldens(t testing.TB) []golden {
	files, err := filepath.Glob(contract + "golden/*.hex")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d golden frames, %v", len(files), err)
	}
	var all []golden
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g := golden{name: filepath.Base(file)}
		var digits strings.Builder
		for _, line := range strings.Split(string(text), "\n") {
			g.accept = g.accept || line == "# accept: yes"
			g.frame = g.frame || line == "# level: frame"
			if !strings.HasPrefix(line, "#") {
				digits.WriteString(strings.Join(strings.Fields(line), ""))
			}
		}
		if g.bytes, err = hex.DecodeString(digits.String()); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, g)
	}
	return all
}

func read(bytes string) (frame, head, error) {
	body, err := readFrame(strings.NewReader(bytes))
	if err != nil {
		return frame{}, head{}, err
	}
	f, err := parseFrame(body)
	if err != nil {
		return frame{}, head{}, err
	}
	h, err := parseHead(f.message)
	return f, h, err
}

func TestGoldenFrames(t *testing.T) {
	for _, g := range goldens(t) {
		_, h, err := read(string(g.bytes))
		if !g.frame {
			// Sound as a frame. A message that cannot be decoded must fail, and soon; a reply in place of a call is an error
			// too.
			if err != nil {
				t.Errorf("%s: %v", g.name, err)
			}
			function, known := idl.NewUpdateMovieProcessor(nil).GetProcessorFunction(h.name)
			if h.name != "ping" || !known || g.name == "broken-reply.hex" {
				continue
			}
			if sound, _ := function.Process(context.Background(), 7, newProtocol(h.body), newProtocol(nil)); sound {
				t.Errorf("%s: was decoded", g.name)
			}
			continue
		}
		if taken := err == nil; taken != g.accept {
			t.Errorf("%s: taken is %v (%v)", g.name, taken, err)
		}
	}
}

func TestGoldenHeader(t *testing.T) {
	for _, g := range goldens(t) {
		if g.name != "header-request.hex" {
			continue
		}
		f, h, err := read(string(g.bytes))
		if err != nil || f.deadline != "250" || f.sequence != 9 || h.name != "read" || h.sequence != 9 {
			t.Fatalf("%+v %+v %v", f, h, err)
		}
		if _, ok := parseTrace(f.traceparent); !ok {
			t.Fatalf("%q", f.traceparent)
		}
		again := append(headerBefore(9, len(f.message), pair{"traceparent", f.traceparent}, pair{"d", "250"}), f.message...)
		if string(again) != string(g.bytes) {
			t.Fatalf("written:\n%x\ngolden:\n%x", again, g.bytes)
		}
		return
	}
	t.Fatal("there is no header-request.hex")
}

// A frame reader ends on any bytes, and the messages that it yields can be skipped or fail.
func FuzzFrame(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		body, err := readFrame(strings.NewReader(string(bytes)))
		if err != nil {
			if !errors.Is(err, errBadFrame) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return
		}
		parsed, err := parseFrame(body)
		if err != nil {
			return
		}
		parseTrace(parsed.traceparent)
		h, err := parseHead(parsed.message)
		if err != nil {
			return
		}
		var args idl.UserSignUpArgs
		_ = args.Read(context.Background(), newProtocol(h.body))
		var answer idl.ComposePageComposeResult
		_ = answer.Read(context.Background(), newProtocol(h.body))
	})
}

type vectors struct {
	Hashes []struct {
		Key    string         `json:"key_hex"`
		Shards map[string]int `json:"shards"`
	} `json:"fnv1a64"`
	Tokens struct {
		Secret string `json:"secret"`
		Now    int64  `json:"now_s"`
		Good   []struct {
			Token         string
			User, Expires int64
		}
		Bad []struct{ Token, Why string }
	} `json:"tokens"`
	Buckets []struct {
		NS     string
		Bucket int
	}
	Times struct {
		Good []struct {
			Text  string
			Times []string
		}
		Bad []string
	}
	Traces struct {
		Good []struct {
			Text, Trace, Span string
			Sampled           bool
		}
		Bad []string
	} `json:"traceparent"`
}

func readVectors(t *testing.T) (v vectors) {
	text, err := os.ReadFile(contract + "vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Hashes) == 0 || len(v.Tokens.Good) == 0 || len(v.Tokens.Bad) == 0 || len(v.Traces.Bad) == 0 {
		t.Fatal("vectors.json has not what is tested here")
	}
	return v
}

func TestShards(t *testing.T) {
	for _, v := range readVectors(t).Hashes {
		key, _ := hex.DecodeString(v.Key)
		for n, want := range v.Shards {
			count, _ := strconv.Atoi(n)
			if got := shardOf(string(key), count); got != want {
				t.Errorf("%q among %d: %d, want %d", key, count, got, want)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	v := readVectors(t).Tokens
	tokens, err := NewTokens(&Config{Secret: v.Secret})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(v.Now, 0)
	for _, good := range v.Good {
		user, _, err := tokens.Parts(good.Token, now)
		if err != nil || user != good.User {
			t.Errorf("%s: %d, %v", good.Token, user, err)
		}
		parts := strings.Split(good.Token, ".")
		expires, _ := strconv.ParseInt(parts[1], 10, 64)
		if made := tokens.with(good.User, expires, parts[2]); made != good.Token {
			t.Errorf("made %s, want %s", made, good.Token)
		}
	}
	for _, bad := range v.Bad {
		var refused *idl.Refused
		if _, _, err := tokens.Parts(bad.Token, now); !errors.As(err, &refused) || refused.Code != idl.Code_UNAUTHORIZED {
			t.Errorf("%s: %v", bad.Why, err)
		}
	}
	one, errOne := tokens.Make(7, v.Now+1)
	other, errOther := tokens.Make(7, v.Now+1)
	if user, _, err := tokens.Parts(one, now); err != nil || user != 7 || one == other || errOne != nil || errOther != nil {
		t.Errorf("two logins of a second: %s and %s, %v", one, other, err)
	}
	if _, err := NewTokens(&Config{}); err == nil {
		t.Error("tokens without a secret")
	}
}

func TestTraces(t *testing.T) {
	v := readVectors(t).Traces
	for _, good := range v.Good {
		trace, ok := parseTrace(good.Text)
		if !ok || hex.EncodeToString(trace.ID[:]) != good.Trace || trace.Sampled != good.Sampled || trace.String() != good.Text {
			t.Errorf("%s: %v %v", good.Text, trace, ok)
		}
	}
	for _, bad := range v.Bad {
		if _, ok := parseTrace(bad); ok {
			t.Errorf("taken: %q", bad)
		}
	}
}
