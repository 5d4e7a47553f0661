package hub

import (
	"net/http"

	"github.com/axle-cd/axle/hub/tunnel/authproxy"
)

// smallFrames sends HTTP/2 answers in frames of frameBytes, except for those of
// clusters: these may be gigabytes, and their clients are few.
func smallFrames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && !authproxy.Owns(r.URL.Path) {
			w = &frameWriter{w}
		}
		next.ServeHTTP(w, r)
	})
}

// frameWriter writes at most frameBytes at a time.
type frameWriter struct{ http.ResponseWriter }

// Write implements http.ResponseWriter.
func (f *frameWriter) Write(p []byte) (n int, err error) {
	for len(p) > frameBytes {
		wrote, err := f.ResponseWriter.Write(p[:frameBytes])
		n += wrote
		if err != nil {
			return n, err
		}
		p = p[frameBytes:]
	}
	wrote, err := f.ResponseWriter.Write(p)
	return n + wrote, err
}

// Flush implements http.Flusher.
func (f *frameWriter) Flush() {
	// A writer that cannot flush has nothing buffered.
	_ = http.NewResponseController(f.ResponseWriter).Flush()
}

// Unwrap gives an http.ResponseController access to the connection.
func (f *frameWriter) Unwrap() http.ResponseWriter { return f.ResponseWriter }
