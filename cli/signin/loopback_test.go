package signin_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/signin"
	"github.com/axle-cd/axle/internal/errcode"
)

// Other pages and programs may call the port; only the answer of this login, by its
// provider, counts, and only the first.
func TestOnlyTheAnswerOfTheLoginCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		issuer string
		first  url.Values
		code   string
		failed errcode.Code
		says   string
	}{
		"allowed":               {"", url.Values{"state": {"st"}, "code": {"good"}}, "good", "", ""},
		"allowed by the issuer": {"https://hub/oidc", url.Values{"state": {"st"}, "code": {"good"}, "iss": {"https://hub/oidc"}}, "good", "", ""},
		"refused":               {"", url.Values{"state": {"st"}}, "", errcode.Forbidden, "refused"},
		"refused, and why":      {"", url.Values{"state": {"st"}, "error": {"access_denied"}, "error_description": {"no\x1b[31mred"}}, "", errcode.Forbidden, `no\x1b[31mred`},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := signin.Listen(t.Context(), "st", tc.issuer)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close(t.Context())
			wrong := []url.Values{{}, {"state": {"other"}, "code": {"bad"}}, {"state": {""}, "code": {"bad"}}}
			if tc.issuer != "" {
				wrong = append(wrong, url.Values{"state": {"st"}, "code": {"bad"}}, url.Values{"state": {"st"}, "code": {"bad"}, "iss": {"https://other/oidc"}})
			}
			for _, query := range wrong {
				if status, page := open(t, l.RedirectURI+"?"+query.Encode()); status != http.StatusBadRequest || strings.Contains(page, "bad") {
					t.Errorf("%v: %d %s", query, status, page)
				}
			}
			if status, _ := open(t, l.RedirectURI+"?"+tc.first.Encode()); status != http.StatusOK {
				t.Errorf("the answer: %d", status)
			}
			open(t, l.RedirectURI+"?"+url.Values{"state": {"st"}, "code": {"second"}, "iss": {tc.issuer}}.Encode())
			code, err := l.Code(t.Context())
			if code != tc.code || errcode.Of(err) != tc.failed || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q, %v", code, err)
			}
		})
	}
}

func open(t *testing.T, address string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(page)
}
