package login

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// boundSealer opens what it sealed for the same purpose.
type boundSealer struct{}

func (boundSealer) Seal(plain []byte, purpose string) string {
	return hex.EncodeToString([]byte(purpose + "|" + string(plain)))
}

func (boundSealer) Open(text, purpose string) ([]byte, error) {
	plain, err := hex.DecodeString(text)
	rest, ok := bytes.CutPrefix(plain, []byte(purpose+"|"))
	if err != nil || !ok {
		return nil, errors.New("sealed for something else")
	}
	return rest, nil
}

// sealedBy returns the value of the cookie that seal sets.
func sealedBy(t *testing.T, s *Server, name string, value any) string {
	t.Helper()
	w := httptest.NewRecorder()
	if err := s.seal(w, name, value, flowLifetime); err != nil {
		t.Fatal(err)
	}
	for _, c := range w.Result().Cookies() {
		if c.Name == s.cookieName(name) {
			return c.Value
		}
	}
	t.Fatalf("no cookie in %q", w.Header())
	return ""
}

func testServer(secure bool) (*Server, *clock.Manual) {
	c := clock.NewManual(time.Unix(1e9, 0))
	return &Server{secure: secure, sealer: boundSealer{}, clock: c, limits: newLimits(nil, c)}, c
}

// With https, a cookie is bound to this host and never sent over plain http.
func TestCookiesOfAHubWithTLS(t *testing.T) {
	s, _ := testServer(true)
	w := httptest.NewRecorder()
	s.setCookie(w, cookieSession, "v", time.Hour)
	s.dropCookie(w, cookieFlow)
	s.protect(w)
	set := w.Header().Values("Set-Cookie")
	want := []string{
		"__Host-axle-session=v; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax",
		"__Host-axle-login=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax",
	}
	if strings.Join(set, "\n") != strings.Join(want, "\n") {
		t.Errorf("cookies %q, want %q", set, want)
	}
	if got := w.Header().Get("Strict-Transport-Security"); got == "" {
		t.Error("browsers may come back by plain http")
	}
}

// What is sealed for one step is of no use in another, nor after its time.
func TestSealedCookiesAreBoundAndEnd(t *testing.T) {
	s, c := testServer(false)
	value := sealedBy(t, s, cookieTOTP, half{UserID: "usr_1"})
	opens := func(name string) bool {
		var h half
		return s.open(&http.Request{Header: http.Header{"Cookie": {name + "=" + value}}}, name, &h) && h.UserID == "usr_1"
	}
	if !opens(cookieTOTP) {
		t.Fatal("a sealed cookie does not open")
	}
	if opens(cookieHalf) || opens(cookieKnown) {
		t.Error("a cookie of one step opens another one's")
	}
	c.Advance(flowLifetime)
	if opens(cookieTOTP) {
		t.Error("a cookie opens after its time")
	}
}

// A browser that logged in to one account has no separate counter for others.
func TestKnownBrowserIsKnownToItsAccountAlone(t *testing.T) {
	s, _ := testServer(false)
	text := sealedBy(t, s, cookieKnown, known{Account: "ann@example.com", ID: "browser"})
	from := func(cookie string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/login", nil)
		r.RemoteAddr = "203.0.113.1:5"
		if cookie != "" {
			r.Header["Cookie"] = []string{cookieKnown + "=" + cookie}
		}
		return r
	}
	for range 5 {
		if _, _, err := s.guess(from(""), "bob@example.com"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.guess(from(text), "bob@example.com"); !errcode.Is(err, errcode.Exhausted) {
		t.Errorf("a browser that knows ann guesses bob's password: %v", err)
	}
	if _, _, err := s.guess(from(text), "Ann@example.com "); err != nil {
		t.Errorf("ann's own browser: %v", err)
	}
}

func TestProvidersAreGoneToByHTTPS(t *testing.T) {
	for text, want := range map[string]bool{
		"https://idp.example.com/auth": true, "http://127.0.0.1:5/auth": true, "http://localhost/auth": true, "http://[::1]:5/a": true,
		"http://idp.example.com/auth": false, "http://192.0.2.1/auth": false, "https://user@idp.example.com/": false, "javascript:alert(1)": false,
		"//idp.example.com/": false, "": false, "ftp://127.0.0.1/": false,
	} {
		if got := usable(text); got != want {
			t.Errorf("%q is usable: %v", text, got)
		}
	}
}
