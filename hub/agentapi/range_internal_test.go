package agentapi

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// FuzzRange checks that every request gets the whole tarball, or exactly the
// range that the answer names.
func FuzzRange(f *testing.F) {
	const etag = `"0123-zstd"`
	for _, s := range [][2]string{{"bytes=0-", etag}, {"bytes=5-9", etag}, {"bytes=-3", etag}, {"bytes=1-2,4-5", etag}, {"bytes=99-", etag}, {"bytes=5-", `"other"`}, {"bytes=5-", ""}, {"lines=1-2", etag}, {"bytes=18446744073709551616-", etag}} {
		f.Add(s[0], s[1])
	}
	body := []byte("0123456789")
	f.Fuzz(func(t *testing.T, ranges, ifRange string) {
		r := httptest.NewRequest(http.MethodGet, "/agent/v1/tarballs/x", nil)
		r.Header["Range"], r.Header["If-Range"] = []string{ranges}, []string{ifRange}
		w := httptest.NewRecorder()
		w.Header().Set("Etag", etag)
		w.Header().Set("Content-Type", "application/zstd")
		http.ServeContent(w, withoutLooseRange(r, etag), "", time.Time{}, bytes.NewReader(body))
		got, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		switch w.Code {
		case http.StatusOK:
			if !bytes.Equal(got, body) {
				t.Fatalf("the whole is %q", got)
			}
		case http.StatusPartialContent:
			if ifRange != etag || strings.HasPrefix(w.Header().Get("Content-Type"), "multipart") || !bytes.Contains(body, got) {
				t.Fatalf("a part %q of %s for If-Range %q", got, w.Header().Get("Content-Range"), ifRange)
			}
		case http.StatusRequestedRangeNotSatisfiable:
			if ifRange != etag {
				t.Fatalf("refused a range of bytes that are not there: %q", ifRange)
			}
		default:
			t.Fatalf("status %d", w.Code)
		}
	})
}
