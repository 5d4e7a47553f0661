package peer

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// FuzzSignature sends arbitrary text as a signature: only what the key made is
// accepted.
func FuzzSignature(f *testing.F) {
	key, now := []byte("key"), time.Unix(1e9, 0)
	const micros = "1000000000000000"
	good := "hub-0 " + micros + " "
	for _, seed := range []string{"", " ", "  ", good, good + "00", "hub-0  ", " " + micros + " 00", good + "\x00"} {
		f.Add(seed, "/peer/v1/x")
	}
	f.Fuzz(func(t *testing.T, header, uri string) {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.URL.Path, r.URL.RawQuery = uri, ""
		r.Header.Set(PartHeader, header)
		if name, err := VerifyPart(key, now, r, []byte("body")); err == nil {
			t.Errorf("%q was believed as of %q", header, name)
		}
	})
}
