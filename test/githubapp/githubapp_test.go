package githubapp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/githubapp"
)

// TestClaimsAreChecked holds that the server takes nothing but a signed claim;
// the good case is told by the hub's own client.
func TestClaimsAreChecked(t *testing.T) {
	t.Parallel()
	s, err := githubapp.Start(t.Context(), githubapp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, token := range []string{"", "x", "e30.e30.AAAA", "eyJhbGciOiJub25lIn0.eyJpc3MiOjF9."} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/app/installations/10/access_tokens", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || s.Issued() != 0 {
			t.Errorf("%q: status %d, %d tokens", token, resp.StatusCode, s.Issued())
		}
	}
}
