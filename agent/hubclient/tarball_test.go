package hubclient_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

var someDigest = digest.New().Digest()

// serveCut sends content in pieces: each answer breaks off after cut bytes.
func serveCut(content []byte, cut int, etag func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/zstd")
		w.Header().Set("Etag", etag())
		http.ServeContent(&cutWriter{w, cut}, q, "", time.Time{}, bytes.NewReader(content))
	}
}

type cutWriter struct {
	http.ResponseWriter
	left int
}

// Write sends the rest of the piece, then breaks the connection.
func (c *cutWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	c.left -= n
	if c.left == 0 {
		http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

func TestDownloadResumes(t *testing.T) {
	d := newDouble(t)
	content := bytes.Repeat([]byte("axle "), 20_000)
	d.answer(serveCut(content, len(content)/2+1, func() string { return `"a"` }))
	r, err := d.client(t, func(cfg *hubclient.Config) { cfg.Attempts = 3 }).Download(t.Context(), tarball.Request{Digest: someDigest})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("got %d bytes, %v, want %d", len(got), err, len(content))
	}
	if last := d.last().Header; !strings.HasPrefix(last.Get("Range"), "bytes=") || last.Get("If-Range") != `"a"` {
		t.Errorf("the rest was asked for with %v", last)
	}
}

// Another replica compressed the same content to other bytes: the bytes read so far
// do not fit the rest.
func TestDownloadDoesNotMixBytes(t *testing.T) {
	d := newDouble(t)
	var n atomic.Int32
	d.answer(serveCut(bytes.Repeat([]byte("axle "), 20_000), 60_000, func() string {
		return map[bool]string{true: `"a"`, false: `"b"`}[n.Add(1) == 1]
	}))
	r, err := d.client(t, func(cfg *hubclient.Config) { cfg.Attempts = 3 }).Download(t.Context(), tarball.Request{Digest: someDigest})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = io.ReadAll(r)
	contains(t, err, "changed during the download")
}

func TestDownloadRefusesAPortal(t *testing.T) {
	d := newDouble(t)
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<html>"))
	})
	_, err := d.client(t).Download(t.Context(), tarball.Request{Digest: someDigest})
	if hubclient.ReasonOf(err) != hubclient.NotTheHub {
		t.Errorf("got %v, want an answer that is not the hub's", err)
	}
}

// TestDownloadGoesOnFromAnEarlierOne: a caller that kept the first part gets
// the rest of the same bytes, or all of other ones.
func TestDownloadGoesOnFromAnEarlierOne(t *testing.T) {
	content := bytes.Repeat([]byte("axle "), 20_000)
	tests := map[string]struct {
		offset     int64
		etag       string
		wantOffset int64
	}{
		"the rest":        {60_000, `"a"`, 60_000},
		"other bytes":     {60_000, `"b"`, 0},
		"more than there": {200_000, `"a"`, 0},
		"all of it":       {100_000, `"a"`, 0},
		"without an ETag": {60_000, "", 0},
		"from the start":  {0, `"a"`, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDouble(t)
			d.answer(func(w http.ResponseWriter, q *http.Request) {
				w.Header().Set("Content-Type", "application/zstd")
				w.Header().Set("Etag", `"a"`)
				w.Header().Set("Axle-Served-By", "hub-0/disk")
				http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(content))
			})
			got, err := d.client(t, func(cfg *hubclient.Config) { cfg.Attempts = 3 }).Download(t.Context(),
				tarball.Request{Digest: someDigest, Offset: tt.offset, ETag: tt.etag})
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			rest, err := io.ReadAll(got)
			if err != nil || got.Offset != tt.wantOffset || !bytes.Equal(rest, content[tt.wantOffset:]) || got.Size != int64(len(content)) || got.ETag != `"a"` || got.From != "hub-0/disk" {
				t.Errorf("from byte %d of %d come %d, etag %s, from %s: %v", got.Offset, got.Size, len(rest), got.ETag, got.From, err)
			}
		})
	}
}

// A service waits for a hub that is away, and fails when something else cuts its downloads.
func TestADownloadThatIsCutIsNoHubThatIsAway(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		away   bool
	}{
		"no hub":    {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, true},
		"a gateway": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "upstream", http.StatusBadGateway) }, true},
		"no room":   {func(w http.ResponseWriter, _ *http.Request) { problem(w, 503, errcode.Unavailable, "the disk is full") }, false},
		"cut each time": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/zstd")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("axle"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDouble(t)
			d.answer(test.answer)
			got, err := d.client(t, func(cfg *hubclient.Config) { cfg.Attempts = 1 }).Download(t.Context(), tarball.Request{Digest: someDigest})
			if err == nil {
				_, err = io.ReadAll(got)
				_ = got.Close()
			}
			var answer *hubclient.AnswerError
			if !errors.As(err, &answer) || answer.Away() != test.away {
				t.Errorf("the hub is away: %t: %v", test.away, err)
			}
		})
	}
}

func TestDeltaIsTakenOnlyWhenAskedFor(t *testing.T) {
	d := newDouble(t)
	d.answer(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.axle.delta")
		w.Write([]byte("delta from " + q.URL.Query().Get("have")))
	})
	if _, err := d.client(t).Download(t.Context(), tarball.Request{Digest: someDigest}); hubclient.ReasonOf(err) != hubclient.NotTheHub {
		t.Errorf("a delta that nobody asked for: %v", err)
	}
	got, err := d.client(t).Download(t.Context(), tarball.Request{Digest: someDigest, Have: someDigest})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	text, err := io.ReadAll(got)
	if err != nil || !got.Delta || string(text) != "delta from "+someDigest.String() {
		t.Errorf("%q, delta %v, %v", text, got.Delta, err)
	}
}
