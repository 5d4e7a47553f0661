package routes

import "net/http"

// LeaveBody is called before rejecting a request whose body will not be read. An
// HTTP/1 server would first read some of it, and wait for it, to reuse the
// connection; this closes the connection instead. With HTTP/2 only the stream ends.
func LeaveBody(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}
