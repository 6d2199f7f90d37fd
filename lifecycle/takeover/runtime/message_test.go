package runtime

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// follow feeds a message in pieces and returns how many bytes it has, and whether it
// is complete.
func follow(text string, size int, method string) (n int, done bool, err error) {
	var m message
	for rest := text; ; {
		piece := rest[:min(size, len(rest))]
		k, err := m.next([]byte(piece))
		n += k
		rest = rest[k:]
		if err == nil && m.part == headEnds {
			if method == "" {
				_, err = m.request()
			} else {
				_, err = m.response(method)
			}
		}
		if err != nil || m.part == complete {
			return n, err == nil, err
		}
		if len(rest) == 0 {
			return n, false, nil
		}
	}
}

func TestMessageEnds(t *testing.T) {
	t.Parallel()
	const chunked = "5;name=\"value\"\r\nhello\r\n00\r\nTrailer: x\r\n\r\n"
	for name, tt := range map[string]struct {
		method, text string // method is that of the request, for a response
		open         bool   // all that follows belongs to it
	}{
		"request":                      {text: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		"request behind an empty line": {text: "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		"request with bare newlines":   {text: "GET / HTTP/1.1\nHost: a\n\n"},
		"request with a length":        {text: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"},
		"request in chunks":            {text: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked},
		"request of HTTP/1.0":          {text: "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n\n\n"},
		"response":                     {method: "GET", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
		"empty response":               {method: "GET", text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"response in chunks":           {method: "GET", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked},
		"response to HEAD":             {method: "HEAD", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
		"chunked response to HEAD":     {method: "HEAD", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
		"no content":                   {method: "GET", text: "HTTP/1.1 204 No Content\r\n\r\n"},
		"not modified":                 {method: "GET", text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"},
		"response until the end":       {method: "GET", text: "HTTP/1.0 200 OK\r\n\r\n", open: true},
		"informational":                {method: "GET", text: "HTTP/1.1 100 Continue\r\n\r\n"},
	} {
		for size := 1; size <= len(tt.text); size++ {
			n, done, err := follow(tt.text+"more", size, tt.method)
			if want := len(tt.text); !tt.open && (n != want || !done) || tt.open && (n != want+4 || done) || err != nil {
				t.Errorf("%s in pieces of %d: %d bytes, %v, %v; want %d", name, size, n, done, err, want)
			}
		}
	}
}

func TestOpens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{ // is it, and is that sure
		"":                                    {false, false},
		"G":                                   {false, false},
		"\r\nGET /":                           {false, false},
		"GET / HTTP/1.1\r\n":                  {true, true},
		"OPTIONS * HTTP/1.0\n":                {true, true},
		"GET / HTTP/2\r\n":                    {false, true},
		"PRI * HTTP/2.0\r\n\r\nSM\r\n":        {false, true},
		"PING\r\n":                            {false, true},
		"\x16\x03\x01":                        {false, true},
		"get x\r\n":                           {false, true},
		"\x00\x00\x00\x08\x04\xd2\x16/":       {false, true},
		"GET " + strings.Repeat("x", maxLine): {false, true},
	} {
		if is, sure := opens([]byte(text)); is != want[0] || sure != want[1] {
			t.Errorf("%.20q: %v, %v; want %v", text, is, sure, want)
		}
	}
}

// However it is cut into pieces, a message ends at the same place.
func FuzzMessage(f *testing.F) {
	f.Add("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", 3)
	f.Add("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "", 1)
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "GET", 7)
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "GET", 2)
	f.Fuzz(func(t *testing.T, text, method string, size int) {
		size = max(1, size)
		n, done, err := follow(text, size, method)
		n1, done1, err1 := follow(text, max(1, len(text)), method)
		if done != done1 || (err == nil) != (err1 == nil) || err == nil && n != n1 {
			t.Errorf("in pieces of %d: %d, %v, %v; at once: %d, %v, %v", size, n, done, err, n1, done1, err1)
		}
		is, sure := opens([]byte(text))
		if is && !sure {
			t.Error("it is HTTP/1 and that is not sure")
		}
	})
}

// What a server of net/http sends ends where the message does.
func TestMessagesOfServers(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 5000, 100_000} {
		r := httptest.NewRequest(http.MethodPut, "/", io.LimitReader(zeros{}, int64(size)))
		r.ContentLength = -1
		var sent bytes.Buffer
		if err := r.Write(&sent); err != nil {
			t.Fatal(err)
		}
		if n, done, err := follow(sent.String()+"more", 4096, ""); n != sent.Len() || !done || err != nil {
			t.Errorf("%d bytes: %d of %d, %v, %v", size, n, sent.Len(), done, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
