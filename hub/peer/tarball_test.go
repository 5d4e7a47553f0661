package peer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// disk has one tarball.
type disk struct {
	content []byte
	builds  []bool
	owned   bool
	err     error
}

type file struct{ *bytes.Reader }

func (file) Close() error { return nil }

func (d *disk) TarballHere(_ context.Context, _ digest.Digest, build bool) (*peer.Tarball, bool, error) {
	d.builds = append(d.builds, build)
	sum := sha256.Sum256(d.content)
	return &peer.Tarball{ReadSeekCloser: file{bytes.NewReader(d.content)}, Hash: hex.EncodeToString(sum[:])}, d.owned, d.err
}

// between is what lies between two replicas: it may cut an answer after some
// bytes, or change them, and counts what it lets through.
type between struct {
	cutAt  int64
	change bool
	asked  atomic.Int32
	bytes  atomic.Int64
}

type spoiled struct {
	http.ResponseWriter
	b    *between
	left int64
}

func (s *spoiled) Write(p []byte) (int, error) {
	if s.b.change && len(p) > 0 {
		p = bytes.Clone(p)
		p[0] ^= 1
	}
	cut := s.left > 0 && int64(len(p)) >= s.left
	if cut {
		p = p[:s.left]
	}
	// Count before the write, because the reader may check at once.
	s.b.bytes.Add(int64(len(p)))
	n, err := s.ResponseWriter.Write(p)
	if s.left -= int64(n); cut {
		http.NewResponseController(s.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

func serveTarballs(t *testing.T, key string, d *disk, b *between) peer.Replica {
	t.Helper()
	pattern, handler, err := peer.NewTarballHandler([]byte(key), nil, d)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		b.asked.Add(1)
		handler.ServeHTTP(&spoiled{w, b, b.cutAt}, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return peer.Replica{Name: "hub-1", URL: server.URL}
}

func TestStoredBytesAreCopied(t *testing.T) {
	content := bytes.Repeat([]byte("axle tarball "), 50_000)
	d := digest.New().Digest()
	tests := map[string]struct {
		disk   disk
		cutAt  int64
		change bool
		key    string
		stored bool // request only stored bytes
		owned  bool
		code   errcode.Code
		asked  int32
		bytes  int64
	}{
		"whole":            {disk: disk{owned: true}, owned: true, asked: 1, bytes: 650_000},
		"stored only":      {disk: disk{owned: true}, stored: true, owned: true, asked: 1, bytes: 650_000},
		"cut twice":        {disk: disk{owned: true}, cutAt: 300_000, owned: true, asked: 3, bytes: 650_000},
		"cut all the time": {disk: disk{owned: true}, cutAt: 1000, owned: true, code: errcode.Unavailable, asked: 5, bytes: 5000},
		"altered":          {disk: disk{owned: true}, change: true, owned: true, code: errcode.Unavailable, asked: 1, bytes: 650_000},
		"not the owner":    {disk: disk{}, asked: 1},
		"not there":        {disk: disk{owned: true, err: errcode.New(errcode.NotFound, "no such tarball")}, owned: true, code: errcode.NotFound, asked: 1},
		"not there yet":    {disk: disk{owned: true, err: errcode.New(errcode.Unavailable, "being copied").After(2 * time.Second)}, owned: true, code: errcode.Unavailable, asked: 1},
		"not signed by us": {disk: disk{owned: true}, key: "other", owned: true, code: errcode.Unavailable, asked: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.disk.content = content
			way := &between{cutAt: tt.cutAt, change: tt.change}
			key := "key"
			if tt.key != "" {
				key = tt.key
			}
			to := serveTarballs(t, key, &tt.disk, way)
			var got bytes.Buffer
			owned, err := client(t, "key", nil).Tarball(t.Context(), to, d, !tt.stored, &got)
			if owned != tt.owned || errcode.Of(err) != tt.code {
				t.Fatalf("owned %v, error %v", owned, err)
			}
			if tt.code == "" && tt.owned && !bytes.Equal(got.Bytes(), content) {
				t.Errorf("%d bytes came, want %d", got.Len(), len(content))
			}
			if n := way.asked.Load(); n != tt.asked {
				t.Errorf("asked %d times, want %d", n, tt.asked)
			}
			if n := way.bytes.Load(); tt.bytes > 0 && n != tt.bytes {
				t.Errorf("%d bytes went over the wire, want %d", n, tt.bytes)
			}
			if len(tt.disk.builds) > 0 && tt.disk.builds[0] == tt.stored {
				t.Errorf("asked to build: %v", tt.disk.builds)
			}
			if name == "not there yet" && errcode.RetryAfter(err) != 2*time.Second {
				t.Errorf("asks to wait %v", errcode.RetryAfter(err))
			}
		})
	}
}

func TestTarballsAreForReplicasAlone(t *testing.T) {
	to := serveTarballs(t, "key", &disk{owned: true, content: []byte("x")}, &between{})
	answer, err := http.Get(to.URL + "/peer/v1/tarballs/" + digest.New().Digest().String())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	words, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusUnauthorized || !strings.Contains(string(words), "not signed") {
		t.Errorf("status %d, %s, %v", answer.StatusCode, words, err)
	}
}
