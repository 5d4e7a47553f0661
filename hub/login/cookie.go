package login

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/clock"
)

const (
	// flowLifetime is how long a started login may take.
	flowLifetime = 10 * time.Minute
	// knownLifetime is how long a browser that logged in by password has its
	// own counter of guesses.
	knownLifetime = 90 * 24 * time.Hour
	// maxCookie limits how much of a cookie is opened; browsers store 4 KiB.
	maxCookie = 4096
)

// The names of cookies, without the prefix.
const (
	cookieSession = "axle-session"
	cookieForm    = "axle-form"
	cookieFlow    = "axle-login"
	cookieHalf    = "axle-half"
	cookieKnown   = "axle-known"
	cookieKey     = "axle-key"
	cookieTOTP    = "axle-totp"
)

// CSRFHeader is the header that an API call with a session cookie must have.
// Its value is FormToken of the cookie.
const CSRFHeader = "Axle-Csrf"

// cookieName returns the full name of a cookie. With https, its prefix makes
// browsers accept it only from this host and only over https.
func (s *Server) cookieName(name string) string {
	if s.secure {
		return "__Host-" + name
	}
	return name
}

func (s *Server) setCookie(w http.ResponseWriter, name, value string, lifetime time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(name), Value: value, Path: "/", HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(lifetime / time.Second),
	})
}

func (s *Server) dropCookie(w http.ResponseWriter, name string) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(name), Path: "/", HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode, MaxAge: -1})
}

// cookie returns a cookie's value. Of two cookies with one name, which only
// another host under the same domain can cause, neither is used.
func (s *Server) cookie(header http.Header, name string) string {
	name, value := s.cookieName(name), ""
	for _, line := range header["Cookie"] {
		for part := range strings.SplitSeq(line, ";") {
			n, v, ok := strings.Cut(strings.TrimSpace(part), "=")
			if !ok || n != name {
				continue
			}
			if value != "" || len(v) > maxCookie {
				return ""
			}
			value = v
		}
	}
	return value
}

// sealedCookie is the content of a sealed cookie, with its expiry.
type sealedCookie struct {
	Until int64           `json:"u"`
	Value json.RawMessage `json:"v"`
}

func purposeCookie(name string) string { return "cookie " + name }

// seal stores a value in a cookie that nobody can read or change.
func (s *Server) seal(w http.ResponseWriter, name string, value any, lifetime time.Duration) error {
	inner, err := json.Marshal(value)
	if err != nil {
		return err
	}
	text, err := json.Marshal(sealedCookie{clock.Micros(s.clock.Now().Add(lifetime)), inner})
	if err != nil {
		return err
	}
	s.setCookie(w, name, s.sealer.Seal(text, purposeCookie(name)), lifetime)
	return nil
}

// open decodes what seal stored into value. It returns false when there is no
// cookie, when the hub did not seal it, or when it has expired.
func (s *Server) open(r *http.Request, name string, value any) bool {
	text := s.cookie(r.Header, name)
	if text == "" {
		return false
	}
	plain, err := s.sealer.Open(text, purposeCookie(name))
	if err != nil {
		return false
	}
	var c sealedCookie
	if json.Unmarshal(plain, &c) != nil || clock.Micros(s.clock.Now()) >= c.Until {
		return false
	}
	return json.Unmarshal(c.Value, value) == nil
}

// FormToken returns the token that a form, or the CSRF header of a call, must
// send together with a cookie: only pages of this origin can know it.
func FormToken(cookie string) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte("axle form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func sameToken(cookie, token string) bool {
	return cookie != "" && subtle.ConstantTimeCompare([]byte(FormToken(cookie)), []byte(token)) == 1
}

// formToken returns the token for the forms of an answer: that of the session,
// or of a cookie that it sets for browsers without a session.
func (s *Server) formToken(w http.ResponseWriter, r *http.Request) string {
	if session := s.cookie(r.Header, cookieSession); session != "" {
		return FormToken(session)
	}
	value := s.cookie(r.Header, cookieForm)
	if value == "" {
		value = rand.Text()
		s.setCookie(w, cookieForm, value, 24*time.Hour)
	}
	return FormToken(value)
}

// formIsOurs reports whether a POST carries the token of its cookie.
func (s *Server) formIsOurs(r *http.Request) bool {
	token := r.PostFormValue("csrf")
	if token == "" {
		token = r.Header.Get(CSRFHeader)
	}
	if session := s.cookie(r.Header, cookieSession); session != "" {
		return sameToken(session, token)
	}
	return sameToken(s.cookie(r.Header, cookieForm), token)
}
