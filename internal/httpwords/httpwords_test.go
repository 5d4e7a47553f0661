package httpwords_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/axle-cd/axle/internal/httpwords"
)

func TestWordsOfErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ kind, body, want string }{
		"text":           {"text/plain; charset=utf-8", " down\r\n until\tnoon\x1b[31m ", "down until noon [31m"},
		"a page":         {"text/html", "<html>sign in</html>", ""},
		"GitHub":         {"application/json", `{"message": "Not Found", "documentation_url": "https://…"}`, "Not Found"},
		"GitLab":         {"application/json", `{"error": "insufficient_scope", "error_description": "The request requires higher privileges"}`, "The request requires higher privileges"},
		"a registry":     {"application/json", `{"errors": [{"code": "DENIED", "message": "no"}, {"code": "TOOMANY", "message": "slow"}]}`, "DENIED: no; TOOMANY: slow"},
		"Google":         {"application/json", `{"error": {"code": 403, "message": "no access", "status": "PERMISSION_DENIED"}}`, "no access"},
		"LFS":            {"application/vnd.git-lfs+json", `{"message": "gone"}`, "gone"},
		"no JSON at all": {"application/json", "upstream timed out", "upstream timed out"},
		"S3":             {"application/xml", "<Error><Code>AccessDenied</Code><Message>Access Denied</Message><RequestId>1</RequestId></Error>", "AccessDenied: Access Denied"},
		"long":           {"text/plain", strings.Repeat("ä", 400), strings.Repeat("ä", 148) + "…"},
	} {
		if got := httpwords.Read(tt.kind, strings.NewReader(tt.body)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, kind := range []string{"text/plain", "application/json", "text/xml", "", "a/b+json; q"} {
		f.Add(kind, `{"errors": [{"message": ["a", {"error": "b"}]}]}`)
		f.Add(kind, "<Error><Code>\x00</Code></Error>")
	}
	f.Fuzz(func(t *testing.T, kind, body string) {
		got := httpwords.Read(kind, strings.NewReader(body))
		if len(got) > 300 || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q", got)
		}
	})
}
