package tunnel

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzWords reads any answer of the hub, or of who stands between, that refuses a tunnel.
func FuzzWords(f *testing.F) {
	for _, text := range []string{`{"code":"resource_exhausted","message":"later"}`, `{"code":7}`, `{"message":"m"}`, `<html>`, `[]`, `null`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		answer := &http.Response{StatusCode: 503, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))}
		taken.Few(t, len(text), func() {
			if words, ours := hubWords(answer); len(words) > 16<<10*3 || words != "" && !ours {
				t.Errorf("%d bytes, ours %v", len(words), ours)
			}
		})
	})
}
