// Package taken measures for tests what a call allocates: a bound of what a text becomes is
// held by a number of bytes. Answers is a server that sends the text. Only tests call it.
package taken

import (
	"cmp"
	"io"
	"net/http"
	"runtime"
	"strings"
)

// Answers is a connection to a server that answers the same to each request, in JSON.
type Answers struct {
	// Code is 200 if it is zero.
	Code int
	Body string
}

// RoundTrip implements http.RoundTripper.
func (a *Answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: cmp.Or(a.Code, http.StatusOK), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.Body)), Request: r}, nil
}

// By returns what a call allocates that is reachable or was, in bytes: more than what is
// in use at any time. What else runs in the process counts too.
func By(call func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// Few fails a fuzz test when what is made of a text of others takes more than a mebibyte and
// 2 KiB for each of its bytes.
func Few(t interface {
	Helper()
	Errorf(format string, args ...any)
}, text int, call func()) {
	t.Helper()
	if bytes := By(call); bytes > 1<<20+2048*text {
		t.Errorf("%d bytes take %d", text, bytes)
	}
}
