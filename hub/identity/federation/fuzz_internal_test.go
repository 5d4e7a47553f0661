package federation

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/taken"
)

// issuer is a login provider that answers any text for its keys.
type issuer struct{ keys string }

// RoundTrip implements http.RoundTripper.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	body := i.keys
	if strings.HasSuffix(r.URL.Path, "/openid-configuration") {
		body = `{"issuer":"https://i.example.com","jwks_uri":"https://i.example.com/keys"}`
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// FuzzTokens verifies any text as a token with any keys. No seed is signed, so none is accepted.
func FuzzTokens(f *testing.F) {
	keys := `{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":"k","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}`
	f.Add("eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ.eyJpc3MiOiJodHRwczovL2kuZXhhbXBsZS5jb20iLCJhdWQiOiJhIn0.AAAA", keys)
	f.Add("eyJhbGciOiJub25lIn0.e30.", keys)
	f.Add("eyJhbGciOiJFUzI1NiJ9.W10.AA", `{"keys":[{},null,{"kty":"oct","k":"AA"}]}`)
	f.Add("{\"payload\":\"e30\",\"signatures\":[{},{}]}", `{"keys":{}}`)
	f.Add("a.b.c", `null`)
	f.Fuzz(func(t *testing.T, token, keys string) {
		i, err := New(Config{Client: func(string) (*http.Client, error) { return &http.Client{Transport: &issuer{keys}}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		taken.Few(t, 4*(len(token)+len(keys)), func() { _, _, err = i.Verify(t.Context(), "https://i.example.com", "", "a", token) })
		if err == nil {
			t.Errorf("%s is accepted with %s", token, keys)
		}
		if len(err.Error()) > 4096 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}
