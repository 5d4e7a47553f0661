package agentapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// slowestLink is the lowest rate, in bytes per second, at which a tarball
	// may be read; slower readers are cut off and continue with a range
	// request.
	slowestLink = 16 << 10
	// tarballGrace is added to the time of every download.
	tarballGrace = time.Minute
)

// servedBy is the header that names the replica and the cache level that had
// the bytes, so that an agent that got wrong ones can report their origin.
const servedBy = "Axle-Served-By"

// tarball answers GET
// /agent/v1/tarballs/{digest}[?have={digest}][&format=gzip]. With have, a
// content that the cluster had, the answer may be a delta from it; its content
// type says so.
func (s *Server) tarball(w http.ResponseWriter, r *http.Request) {
	p, err := s.admit(r.Context(), r.Header)
	s.position.set(w.Header(), s.config.Feed, s.config.Feed.Position(), first(r.Header, seenHeader))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	name := r.PathValue("digest")
	d, err := digest.Parse(name)
	// A tarball of another cluster and one that does not exist look the same.
	files, may := s.mayFetch(r, p.ID, name)
	if err != nil || !may {
		s.refuse(w, r, errcode.New(errcode.NotFound, "no tarball %.80s for this cluster; poll for the current list", name))
		return
	}
	t := files
	if t == nil {
		t, err = s.open(r.WithContext(pool.As(r.Context(), s.sharing(p))), p.ID, d)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	defer t.Close() //nolint:errcheck // it was only read
	rc := http.NewResponseController(w)
	limit := tarballGrace + time.Duration(t.Size/slowestLink)*time.Second
	// Writers without deadlines (in tests) do not need one.
	_ = rc.SetWriteDeadline(time.Now().Add(limit))
	h := w.Header()
	h.Set("Content-Type", t.ContentType)
	h.Set("Etag", t.ETag)
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Vary", "Accept")
	h.Set(servedBy, s.config.Replica+"/"+t.From)
	s.metrics.tarballs.Inc()
	r = withoutLooseRange(r, t.ETag)
	if r.Header.Get("Range") != "" {
		s.metrics.tarballResumes.Inc()
	}
	http.ServeContent(countBytes{w, s.metrics.tarballBytes}, r, "", time.Time{}, t)
}

// open chooses the form of the bytes: a delta when the caller has content that
// its cluster may have, gzip when requested, otherwise the tarball as stored.
func (s *Server) open(r *http.Request, clusterID string, d digest.Digest) (*gitcache.Tarball, error) {
	q := r.URL.Query()
	if q.Get("format") == "gzip" || strings.Contains(r.Header.Get("Accept"), gitcache.GzipContentType) {
		return s.config.Tarballs.Gzip(r.Context(), d)
	}
	if have, err := digest.Parse(q.Get("have")); err == nil && s.config.Desired.MayFetch(clusterID, have.String()) {
		if t, err := s.config.Tarballs.Delta(r.Context(), have, d); err == nil {
			s.metrics.deltas.Inc()
			return t, nil
		}
	}
	return s.config.Tarballs.Fetch(r.Context(), d)
}

// withoutLooseRange removes a Range that is not for exactly these bytes: two
// hubs may hold the same content compressed differently. Only a single range is
// served.
func withoutLooseRange(r *http.Request, etag string) *http.Request {
	ranges := r.Header.Get("Range")
	if ranges == "" || r.Header.Get("If-Range") == etag && !strings.Contains(ranges, ",") {
		return r
	}
	whole := r.Clone(r.Context())
	whole.Header.Del("Range")
	return whole
}

// countBytes counts the bytes sent.
type countBytes struct {
	http.ResponseWriter
	total interface{ Add(float64) }
}

// Write implements io.Writer.
func (c countBytes) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.total.Add(float64(n))
	return n, err
}

// Unwrap is for http.ResponseController.
func (c countBytes) Unwrap() http.ResponseWriter { return c.ResponseWriter }
