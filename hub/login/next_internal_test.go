package login

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/clock"
)

// What a redirect would lead to is what is checked.
func TestNextIsAPathOfThisHub(t *testing.T) {
	for next, want := range map[string]string{
		"/services?q=a#b": "/services?q=a#b", "/clusters/": "/clusters/", "/clusters/a/k8s/x/a%2Fb": "/clusters/a/k8s/x/a%2Fb",
		"/x/../logout": "/", "/login/./callback/sso": "/", "/login//callback/sso": "/", "/login/../..//evil.test": "/", "/logout": "/", "/%2e%2e/logout": "/",
	} {
		if got := safeNext(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

func FuzzNext(f *testing.F) {
	for _, s := range []string{"/", "//x", "/\\x", "/a?b=//c", "https://x", "/\x00", "/%2f/x", "/..//x", "/login/callback/x"} {
		f.Add(s)
	}
	here, err := url.Parse("https://hub.example.com/login")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := safeNext(next)
		u, err := here.Parse(got)
		if err != nil || u.Host != here.Host || u.Scheme != here.Scheme || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || u.Path == "/logout" || strings.HasPrefix(u.Path, "/login/callback/") || strings.ContainsAny(got, "\\\n\r\t") {
			t.Errorf("%q leads to %q", next, got)
		}
	})
}

func FuzzCookies(f *testing.F) {
	f.Add("axle-session=a; axle-session=b")
	f.Add("__Host-axle-session=axle_x")
	f.Add("=; ;;axle-session")
	s := &Server{sealer: plainSealer{}, clock: clock.Real{}}
	f.Add(`axle-login={"u":9000000000000000,"v":{"s":"x"}}`)
	f.Fuzz(func(t *testing.T, line string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Cookie"] = []string{line}
		var fl flow
		var k known
		if got := s.cookie(r.Header, cookieSession); len(got) > maxCookie || strings.Contains(got, ";") || !strings.Contains(line, got) {
			t.Errorf("%q holds a session %q", line, got)
		}
		s.open(r, cookieFlow, &fl)
		s.open(r, cookieKnown, &k)
	})
}

// plainSealer opens anything, so that the fuzzer reaches what is inside.
type plainSealer struct{}

func (plainSealer) Seal(plain []byte, _ string) string  { return string(plain) }
func (plainSealer) Open(text, _ string) ([]byte, error) { return []byte(text), nil }

func TestTwoCookiesOfOneNameAreNone(t *testing.T) {
	s := &Server{secure: true}
	header := http.Header{"Cookie": {"__Host-axle-session=a; __Host-axle-session=b"}}
	if got := s.cookie(header, cookieSession); got != "" {
		t.Errorf("took %q", got)
	}
	if got := s.cookie(http.Header{"Cookie": {"axle-session=a; __Host-axle-session=b"}}, cookieSession); got != "b" {
		t.Errorf("took %q", got)
	}
}

func FuzzUserCode(f *testing.F) {
	f.Add("bcdf-ghjk")
	f.Add("BCDFGHJK ")
	f.Add("ЖЖЖЖ-ЖЖЖЖ")
	f.Fuzz(func(t *testing.T, typed string) {
		code, err := account.ParseUserCode(typed)
		if err == nil && (len(code) != 8 || strings.ToUpper(code) != code) {
			t.Errorf("%q is %q", typed, code)
		}
	})
}

func FuzzAskedCLI(f *testing.F) {
	f.Add("redirect_uri=http://127.0.0.1:1/&state=a&code_challenge_method=S256&code_challenge=x")
	f.Add("redirect_uri=http://[::1]:99999/&lifetime=-1&state=s&code_challenge_method=S256")
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		asked, err := askedCLI(values)
		if err != nil {
			return
		}
		u, err := url.Parse(asked.Redirect)
		if err != nil || u.Scheme != "http" || (u.Hostname() != "::1" && !strings.HasPrefix(u.Hostname(), "127.")) {
			t.Errorf("sends a code to %q", asked.Redirect)
		}
	})
}
