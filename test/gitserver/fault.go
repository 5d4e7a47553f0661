package gitserver

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Fault makes the server fail for one repository. The zero value means no fault.
// Faults apply to HTTP; Only, Hang, Delay, Reset, CutAt and Garbage also apply to
// SSH. Server.Down is for refused connections.
type Fault struct {
	Only    Kind          // act on requests of this kind alone; empty is all
	Status  int           // answer with this status
	Body    string        // with this body; alone it is sent with status 200
	Header  http.Header   // with these headers
	Hang    bool          // do not answer until the fault is gone or the client is
	Delay   time.Duration // wait before answering
	CutAt   int64         // close the connection after so many bytes of a fetch
	BytesPS int64         // send this many bytes a second
	Reset   bool          // close the connection at once
	// Garbage answers in Git's content type with meaningless bytes; to a fetch it
	// sends a pack that begins correctly and then becomes invalid.
	Garbage bool
	// Bomb answers a fetch with a pack that pretends to hold one blob of a
	// terabyte, and sends this many bytes of it.
	Bomb int64
	// Redirect sends the client to the same path below this URL (scheme, host,
	// port), with status 302.
	Redirect string
	// Limit applies the fault only to the next requests, up to this number. Zero
	// means no limit.
	Limit int
}

// TooMany is the answer of a server that asks clients to wait.
func TooMany(wait time.Duration) Fault {
	return Fault{Status: http.StatusTooManyRequests, Body: "slow down\n",
		Header: http.Header{"Retry-After": {strconv.Itoa(int(wait / time.Second))}, "Content-Type": {"text/plain"}}}
}

// SetFault sets, or with the zero Fault ends, the fault of a repository. The
// empty name is the fault of every repository without its own.
func (s *Server) SetFault(repo string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[repo] = f
}

func (s *Server) fault(repo string, kind Kind) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, f := s.faultOf(repo)
	if f.Only != "" && f.Only != kind {
		return Fault{}
	}
	return f
}

func (s *Server) faultOf(repo string) (string, Fault) {
	if f, ok := s.faults[repo]; ok {
		return repo, f
	}
	return "", s.faults[""]
}

// spend counts one request against the limit of its fault.
func (s *Server) spend(repo string, kind Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, f := s.faultOf(repo)
	if f.Limit == 0 || (f.Only != "" && f.Only != kind) {
		return
	}
	if f.Limit--; f.Limit == 0 {
		delete(s.faults, name)
		return
	}
	s.faults[name] = f
}

// act carries out a fault and reports whether the request ended by it.
func (s *Server) act(w http.ResponseWriter, r *http.Request, repo string, kind Kind, f Fault, asked []byte) bool {
	if f.Reset {
		cut(w)
		return true
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for began := time.Now(); f.Hang && s.fault(repo, kind).Hang || time.Since(began) < f.Delay; {
		select {
		case <-r.Context().Done():
			cut(w)
			return true
		case <-poll.C:
		}
	}
	switch {
	case f.Redirect != "":
		http.Redirect(w, r, f.Redirect+r.URL.RequestURI(), http.StatusFound)
		return true
	case f.Garbage:
		garbage(w, kind, asked)
		return true
	case f.Bomb > 0 && kind == Fetch:
		bomb(w, f.Bomb, asked)
		return true
	case f.Status == 0 && f.Body == "":
		return false
	}
	for k, v := range f.Header {
		w.Header()[k] = v
	}
	if f.Status == 0 {
		f.Status = http.StatusOK
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body))
	return true
}

// cut closes the connection under a request, as a broken network would.
func cut(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

var errCut = errors.New("cut by a fault")

// sender counts, slows down and cuts what is sent to a client.
type sender struct {
	http.ResponseWriter
	fault  Fault
	n      int64
	status int
}

// Unwrap lets a connection be taken over.
func (s *sender) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// WriteHeader notes the status.
func (s *sender) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Flush lets the backend's output through at once.
func (s *sender) Flush() {
	if f, ok := s.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Write sends p within the limits of the fault.
func (s *sender) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	sent := 0
	for len(p) > 0 {
		part := p
		if s.fault.CutAt > 0 {
			if s.n >= s.fault.CutAt {
				return sent, errCut
			}
			part = part[:min(int64(len(part)), s.fault.CutAt-s.n)]
		}
		if s.fault.BytesPS > 0 {
			part = part[:min(int64(len(part)), max(1, s.fault.BytesPS/20))]
			<-time.After(50 * time.Millisecond)
		}
		n, err := s.ResponseWriter.Write(part)
		s.n += int64(n)
		sent += n
		if err != nil {
			return sent, err
		}
		if s.fault.BytesPS > 0 {
			s.Flush()
		}
		p = p[n:]
	}
	return sent, nil
}
