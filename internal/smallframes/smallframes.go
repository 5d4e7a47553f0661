// Package smallframes sends the answers of an HTTP/2 server in small frames. The hub's
// server uses it. It keeps nothing.
package smallframes

import "net/http"

// frameBytes is the most that an answer puts into one HTTP/2 frame, because the
// connection keeps a buffer of its largest frame for as long as it lives, and ten
// thousand agents keep one each.
const frameBytes = 4 << 10

// Handler sends HTTP/2 answers in frames of 4 KiB, except for paths that large says are
// of few clients with long answers.
func Handler(next http.Handler, large func(path string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && !large(r.URL.Path) {
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
