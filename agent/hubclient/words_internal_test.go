package hubclient

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzRefusals reads any answer of the hub, or of who stands between, that is an error.
func FuzzRefusals(f *testing.F) {
	for _, text := range []string{`{"code":"unauthenticated","message":"no"}`, `{"code":"a"}`, `{"code":7}`, `<html>`, `[]`, `null`, ``} {
		f.Add(uint16(503), text)
		f.Add(uint16(302), text)
	}
	f.Fuzz(func(t *testing.T, code uint16, text string) {
		answer := &http.Response{StatusCode: int(code), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))}
		taken.Few(t, len(text), func() {
			if words := refusal(answer).Error(); len(words) > 4*maxErrorBody+1024 {
				t.Errorf("%d bytes", len(words))
			}
		})
	})
}
