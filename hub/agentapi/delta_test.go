package agentapi_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
)

// text is long enough that a delta of a line is worth its while.
func text(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "value %d %x; ", i, i*7919*104729)
	}
	return b.String()
}

func TestDeltaBetweenTwoListsOfACluster(t *testing.T) {
	b := newBed(t)
	a, other := b.register("edge-1"), b.register("edge-2")
	b.declare("edge-1", "web", "web")
	b.commit("web", text(2000))
	first := a.waitFor("the long text is there", func(list *agentv1.Desired) error {
		if len(list.GetServices()) == 0 || list.GetServices()[0].GetTarballBytes() < 5000 {
			return fmt.Errorf("list is %v", list)
		}
		return nil
	}).GetServices()[0].GetTarballDigest()
	old := a.get("/agent/v1/tarballs/" + first)
	have := filepath.Join(t.TempDir(), "have")
	if _, _, err := tarball.Unpack(t.Context(), bytes.NewReader(old.body), have, tarball.Limits{}); err != nil {
		t.Fatal(err)
	}
	b.commit("web", text(2000)+"one more")
	second := a.waitFor("the content moved", func(list *agentv1.Desired) error {
		if list.GetServices()[0].GetTarballDigest() == first {
			return fmt.Errorf("still %s", first)
		}
		return nil
	}).GetServices()[0].GetTarballDigest()

	path := "/agent/v1/tarballs/" + second
	whole, delta := a.get(path), a.get(path+"?have="+first)
	if delta.header.Get("Content-Type") != "application/vnd.axle.delta" || len(delta.body) > len(whole.body)/10 {
		t.Fatalf("%s of %d bytes, the whole has %d", delta.header.Get("Content-Type"), len(delta.body), len(whole.body))
	}
	got, _, err := tarball.ApplyDelta(t.Context(), bytes.NewReader(delta.body), have, filepath.Join(t.TempDir(), "new"),
		tarball.Delta{From: digest.Digest(first), To: digest.Digest(second)}, tarball.Limits{})
	if err != nil || got.String() != second {
		t.Errorf("the delta makes %s, want %s: %v", got, second, err)
	}
	etag := delta.header.Get("Etag")
	if etag == "" || etag == whole.header.Get("Etag") || delta.header.Get("Axle-Served-By") == "" {
		t.Errorf("headers %v", delta.header)
	}
	rest := a.get(path+"?have="+first, "Range", "bytes=20-", "If-Range", etag)
	if rest.status != http.StatusPartialContent || !bytes.Equal(rest.body, delta.body[20:]) {
		t.Errorf("rest of the delta: status %d, %d bytes", rest.status, len(rest.body))
	}
	// A range of the whole tarball is not served from a delta.
	if got := a.get(path+"?have="+first, "Range", "bytes=20-", "If-Range", whole.header.Get("Etag")); got.status != http.StatusOK {
		t.Errorf("rest of the whole, asked of a delta: status %d", got.status)
	}
	// The answer reveals nothing about content that the cluster never had.
	for name, from := range map[string]string{"unknown": "axle1:" + strings.Repeat("0", 64), "no digest": "x", "itself": second} {
		if got := a.get(path + "?have=" + from); got.header.Get("Content-Type") != "application/zstd" || !bytes.Equal(got.body, whole.body) {
			t.Errorf("%s: %s of %d bytes", name, got.header.Get("Content-Type"), len(got.body))
		}
	}
	if got := other.get(path + "?have=" + first); got.status != http.StatusNotFound {
		t.Errorf("another cluster: status %d", got.status)
	}
}

func TestTarballAsGzip(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	b.declare("edge-1", "web", "web")
	path := "/agent/v1/tarballs/" + a.produced(1).GetServices()[0].GetTarballDigest()
	plain := a.get(path)
	for name, got := range map[string]answer{"by format": a.get(path + "?format=gzip"), "by accept": a.get(path, "Accept", "application/gzip")} {
		r, err := gzip.NewReader(bytes.NewReader(got.body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tar, err := io.ReadAll(r)
		if err != nil || !bytes.Contains(tar, []byte("kind: ConfigMap")) {
			t.Errorf("%s: %v", name, err)
		}
		if got.header.Get("Content-Type") != "application/gzip" || got.header.Get("Etag") == plain.header.Get("Etag") {
			t.Errorf("%s: headers %v", name, got.header)
		}
	}
}
