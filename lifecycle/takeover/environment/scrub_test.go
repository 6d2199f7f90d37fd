package environment

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const canary = `c4n/ry+"<Ä>&\ 7f3e` // each encoding writes it otherwise

// scrubbed writes a text in pieces of that size, and returns what comes out.
func scrubbed(t testing.TB, text string, size int, secrets ...string) string {
	t.Helper()
	var out safeBuffer
	s := NewScrubber(&out, secrets...)
	for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
		if n, err := s.Write([]byte(rest[:min(size, len(rest))])); err != nil || n != min(size, len(rest)) {
			t.Fatal(n, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestScrubberMasks(t *testing.T) {
	t.Parallel()
	asJSON, err := json.Marshal(map[string]string{"pw": canary})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("0123456789abcdef", 20)
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "all is well\n", "all is well\n"},
		{"itself", "pw=" + canary + "\n", "pw=***\n"},
		{"twice", canary + canary, "******"},
		{"alone", canary, "***"},
		{"query", "?pw=" + url.QueryEscape(canary) + "&", "?pw=***&"},
		{"path", "/" + url.PathEscape(canary) + "/", "/***/"},
		{"JSON", string(asJSON), `{"pw":"***"}`},
		{"Go", fmt.Sprintf("%q", canary), `"***"`},
		{"ASCII", fmt.Sprintf("%+q", canary), `"***"`},
		{"short", "a true value\n", "a true value\n"},
		{"longer one", "hunter2-extended hunter2 hunter2-ext", "*** *** ***-ext"},
		{"a beginning", "hunte hunter\n", "hunte hunter\n"},
		{"a beginning at the end", "is hunter", "is ***"},
		{"a short beginning at the end", "is hunt", "is hunt"},
		{"in itself", "hunthunter2er2", "hunt***er2"},
		{"long", "<" + long + ">", "<***>"},
		{"most of a long one", "<" + long[:100] + ">", "<***>"},
		{"little of a long one", "<" + long[:63] + ">", "<" + long[:63] + ">"},
		{"a long one and more", long + long[:10] + ".", "***" + long[:10] + "."},
		{"lines", "one\ntwo lines\nthree", "one\n***\nthree"},
	} {
		for size := 1; size <= len(tt.in)+1; size++ {
			got := scrubbed(t, tt.in, size, canary, "true", "hunter2", "hunter2-extended", long, "two lines")
			if got != tt.want {
				t.Errorf("%s, by %d bytes: got %q, want %q", tt.name, size, got, tt.want)
				break
			}
		}
	}
}

// What base64 hides a secret in, it is found: behind and before anything.
func TestScrubberMasksBase64(t *testing.T) {
	t.Parallel()
	for before := range 7 {
		for after := range 7 {
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
				plain := strings.Repeat("u", before) + canary + strings.Repeat("v", after)
				got := scrubbed(t, encoding.EncodeToString([]byte(plain)), 5, canary)
				// Of what is left, no more than one byte can be taken at each end.
				if !strings.Contains(got, Mask) || len(got) > len(Mask)+(before+after)*4/3+8 {
					t.Errorf("%d before, %d after: %s is left", before, after, got)
				}
			}
		}
	}
}

// A text that is written in random pieces gives what it gives in one, for random
// secrets, many of which begin alike; and no secret is in what comes out.
func TestScrubberAgreesWithItself(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	word := func(longest int) string {
		b := make([]byte, 1+r.IntN(longest))
		for i := range b {
			b[i] = "ab"[r.IntN(2)]
		}
		return string(b)
	}
	masked := 0
	for range 1000 {
		var secrets []string
		for range 1 + r.IntN(4) {
			secrets = append(secrets, word(14))
		}
		if r.IntN(3) == 0 {
			secrets = append(secrets, word(14)+strings.Repeat("ab", 40)+word(5))
		}
		var text strings.Builder
		for range r.IntN(12) {
			switch r.IntN(3) {
			case 0:
				text.WriteString(secrets[r.IntN(len(secrets))])
			case 1:
				text.WriteString(word(10))
			case 2:
				text.WriteString("\n")
			}
		}
		whole := scrubbed(t, text.String(), 1<<20, secrets...)
		masked += strings.Count(whole, Mask)
		for _, size := range []int{1, 2, 3, 1 + r.IntN(30)} {
			if got := scrubbed(t, text.String(), size, secrets...); got != whole {
				t.Fatalf("secrets %q, text %q, by %d: got %q, want %q", secrets, text.String(), size, got, whole)
			}
		}
		for _, secret := range secrets {
			if len(secret) >= shortestSecret && strings.Contains(whole, secret) {
				t.Fatalf("secret %q, text %q: %q", secret, text.String(), whole)
			}
		}
	}
	if masked < 1000 {
		t.Errorf("only %d secrets were masked", masked)
	}
}

func FuzzScrubber(f *testing.F) {
	f.Add("a secret", "b secret", "it is a secret", uint8(3))
	f.Add("aaaaaa", "aaaaaaaa", "aaaaaaaaaaaaaaa", uint8(1))
	f.Fuzz(func(t *testing.T, a, b, text string, size uint8) {
		got := scrubbed(t, text, int(size)+1, a, b)
		if whole := scrubbed(t, text, len(text)+1, a, b); got != whole {
			t.Errorf("by %d: got %q, want %q", size, got, whole)
		}
		for _, secret := range []string{a, b} {
			if len(secret) >= shortestSecret && !strings.Contains(secret, "*") && strings.Contains(got, secret) {
				t.Errorf("%q is in %q", secret, got)
			}
		}
	})
}

// What may be the beginning of a secret is held back; the little that is let go when
// nothing follows does not bring the rest of the secret out.
func TestScrubberIsPatient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out safeBuffer
		s := NewScrubber(&out, "hunter2!")
		write := func(text, want string) {
			t.Helper()
			if _, err := s.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != want {
				t.Errorf("after %q: got %q, want %q", text, got, want)
			}
		}
		write("name: h", "name: ")
		<-time.After(patience) // by the clock of the bubble
		synctest.Wait()
		write("", "name: h")
		write("unter2!.", "name: h***.")
		write("hun", "name: h***.")
		<-time.After(patience) // by the clock of the bubble
		synctest.Wait()
		write("t\n", "name: h***.hunt\n")
		write("hunter", "name: h***.hunt\n")
		<-time.After(time.Hour) // by the clock of the bubble
		synctest.Wait()
		write("", "name: h***.hunt\n") // so much of a secret is kept
		write("2?", "name: h***.hunt\nhunter2?")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Whatever is written, no more than what a secret is known by is held back.
func TestScrubberHoldsLittle(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("abcdefgh", 100_000)
	var out bytes.Buffer
	s := NewScrubber(&out, secret)
	for i := range len(secret) - 1 {
		if _, err := s.Write([]byte(secret[i : i+1])); err != nil {
			t.Fatal(err)
		}
		if len(s.held) >= anchor {
			t.Fatalf("%d bytes are held", len(s.held))
		}
	}
	if out.String() != Mask {
		t.Errorf("got %d bytes", out.Len())
	}
}

type failing struct{}

var errFull = errors.New("full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestScrubberFails(t *testing.T) {
	t.Parallel()
	s := NewScrubber(failing{}, "hunter2")
	if _, err := s.Write([]byte("hunt")); err != nil {
		t.Error(err)
	}
	for range 2 {
		if _, err := s.Write([]byte("x")); !errors.Is(err, errFull) {
			t.Error(err)
		}
	}
	if err := s.Close(); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

func BenchmarkScrubber(b *testing.B) {
	var secrets []string
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		secret := make([]byte, 32)
		for i := range secret {
			secret[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[r.IntN(36)]
		}
		secrets = append(secrets, string(secret))
	}
	line := []byte(`{"time":"2026-11-30T14:31:00Z","level":"INFO","msg":"request served","path":"/orders/17","status":200,"took":"1.3ms"}` + "\n")
	s := NewScrubber(io.Discard, secrets...)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := s.Write(line); err != nil {
			b.Fatal(err)
		}
	}
}
