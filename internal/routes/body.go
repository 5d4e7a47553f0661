package routes

import "net/http"

// LeaveBody is called before a refusal is written whose request has a body that
// nobody will read. A server of HTTP/1 reads some of it first, and waits for it,
// so that the connection can be used again; this one is closed instead.
// HTTP/2 ends the stream alone.
func LeaveBody(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}
