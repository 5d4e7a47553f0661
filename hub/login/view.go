package login

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/logkey"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// view is the content of a page. A page reads the fields that it needs.
type view struct {
	Title string
	Error string
	Note  string
	Back  string

	// CSRF goes into every form; Next is where a login leads.
	CSRF string
	Next string

	Origin    string
	Version   string
	Person    *identity.Principal
	Email     string
	Token     string
	Providers []button
	Local     bool
	Passkeys  bool
	Fresh     bool

	CLI    *cliView
	Device *account.Device
	Code   string

	Account *accountView
	Again   *againView
	Trial   *trialView
	Consent *Consent
	SignIn  *SignInTrial

	// Refresh is where the page leads by itself.
	Refresh template.URL

	// FormTo is one more origin that a form's answer may lead to.
	FormTo string
	// Picture allows the page to show an embedded picture.
	Picture bool
}

// button is the login through one provider.
type button struct {
	Name, Title, URL string
	// Down says why the provider does not work now; empty when no problem is known.
	Down string
}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"code": account.ShowUserCode,
	"when": func(micros int64) string {
		if micros == 0 {
			return "never"
		}
		return clock.FromMicros(micros).Format("2006-01-02 15:04 UTC")
	},
	"join":  strings.Join,
	"hours": func(micros int64) string { return account.ShowLifetime(time.Duration(micros) * time.Microsecond) },
	"plus":  func(a, b int) int { return a + b },
}).ParseFS(pageFiles, "pages/*.html"))

// protect sets the headers of every answer. Referrers stay on this host,
// because some URLs hold secrets.
func (s *Server) protect(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	if s.secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// policy returns a page's Content-Security-Policy: no script except that for
// passkeys, and nothing from other hosts; the font is the hub's own file.
func policy(v view) string {
	parts := []string{"default-src 'none'", "style-src 'self'", "font-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"}
	if v.Passkeys {
		parts = append(parts, "script-src 'self'", "connect-src 'self'")
	}
	if v.Picture {
		parts = append(parts, "img-src data:")
	}
	form := "form-action 'self'"
	if v.FormTo != "" {
		form += " " + v.FormTo
	}
	return strings.Join(append(parts, form), "; ")
}

// render writes a page.
func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	v.CSRF, v.Origin, v.Version = s.formToken(w, r), s.origin, buildinfo.Version
	if v.Person == nil {
		if p, ok := s.person(r); ok {
			v.Person = &p
		}
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name+".html", v); err != nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "a page cannot be made", slog.String(logkey.Path, name), slog.Any(logkey.Error, err))
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy(v))
	w.WriteHeader(status)
	// The browser may be gone; the error can be ignored.
	_, _ = w.Write(b.Bytes())
}

// fontFile and tokensFile are the names of the console's files here.
const (
	fontFile   = "inter.woff2"
	tokensFile = "tokens.css"
)

// assets serves the stylesheets, the one script and the console's files; they are small and
// may be cached for an hour.
func assets(console map[string][]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		data := console[name]
		if data == nil {
			var err error
			if data, err = assetFiles.ReadFile("assets/" + name); err != nil {
				http.NotFound(w, r)
				return
			}
		}
		kind := "text/css; charset=utf-8"
		switch path.Ext(name) {
		case ".js":
			kind = "text/javascript; charset=utf-8"
		case ".woff2":
			kind = "font/woff2"
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("Cache-Control", "max-age=3600")
		_, _ = w.Write(data)
	})
}
