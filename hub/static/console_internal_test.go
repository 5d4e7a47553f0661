package static

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func built() *Console {
	return NewConsole(fstest.MapFS{
		".keep":                   {},
		"index.html":              {Data: []byte("page")},
		"favicon.svg":             {Data: []byte("<svg/>")},
		"assets/app-1a2b.js":      {Data: []byte("plain")},
		"assets/app-1a2b.js.br":   {Data: []byte("brotli")},
		"assets/app-1a2b.js.gz":   {Data: []byte("gzip")},
		"assets/inter-3c4d.woff2": {Data: []byte("font")},
	}, "https://axle.example.com", []string{"GET /login/session", "/k8s/clusters/"})
}

func ask(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	h.ServeHTTP(w, r)
	return w
}

func TestConsoleIsServed(t *testing.T) {
	const year, check = "public, max-age=31536000, immutable", "no-cache"
	tests := map[string]struct {
		method, path, accept  string
		code                  int
		body, encoding, cache string
	}{
		"home":                    {"GET", "/", "", 200, "page", "", check},
		"a page":                  {"GET", "/services/eu-prod.1/shop", "gzip, br", 200, "page", "", check},
		"head":                    {"HEAD", "/clusters", "", 200, "", "", check},
		"plain":                   {"GET", "/assets/app-1a2b.js", "", 200, "plain", "", year},
		"brotli before gzip":      {"GET", "/assets/app-1a2b.js", "gzip, deflate, br, zstd", 200, "brotli", "br", year},
		"gzip":                    {"GET", "/assets/app-1a2b.js", "gzip", 200, "gzip", "gzip", year},
		"brotli refused":          {"GET", "/assets/app-1a2b.js", "br;q=0, gzip;q=0.5", 200, "gzip", "gzip", year},
		"no compressed form":      {"GET", "/assets/inter-3c4d.woff2", "br", 200, "font", "", year},
		"a file at the root":      {"GET", "/favicon.svg", "", 200, "<svg/>", "", check},
		"no file at the root":     {"GET", "/favicon.ico", "", 404, "404 page not found\n", "", check},
		"a file of an old build":  {"GET", "/assets/app-0000.js", "", 404, "404 page not found\n", "", check},
		"a compressed form alone": {"GET", "/assets/app-1a2b.js.br", "", 404, "404 page not found\n", "", check},
		"the folder":              {"GET", "/assets/", "", 404, "404 page not found\n", "", check},
		"hidden":                  {"GET", "/.keep", "", 404, "404 page not found\n", "", check},
		"another route's":         {"GET", "/login/nowhere", "", 404, "404 page not found\n", "", ""},
		"an unknown call":         {"POST", "/axle.hub.v1.Nothing/Get", "", 404, "404 page not found\n", "", ""},
		"a call by GET":           {"GET", "/axle.hub.v1.Nothing/Get", "", 404, "404 page not found\n", "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := ask(built(), tc.method, tc.path, "Accept-Encoding", tc.accept)
			if w.Code != tc.code || w.Body.String() != tc.body {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body.String(), tc.code, tc.body)
			}
			if got := w.Header().Get("Content-Encoding"); got != tc.encoding {
				t.Errorf("Content-Encoding %q, want %q", got, tc.encoding)
			}
			if got := w.Header().Get("Cache-Control"); got != tc.cache {
				t.Errorf("Cache-Control %q, want %q", got, tc.cache)
			}
		})
	}
}

func TestConsoleIsStrict(t *testing.T) {
	w := ask(built(), "GET", "/")
	policy := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none';", "script-src 'self';", "connect-src 'self' wss://axle.example.com;", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("policy %q lacks %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("policy %q", policy)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Content-Type": "text/html; charset=utf-8"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A page that did not change is not sent again, in the form that the browser
// has.
func TestConsoleIsNotSentTwice(t *testing.T) {
	h := built()
	for _, accept := range []string{"", "br"} {
		first := ask(h, "GET", "/assets/app-1a2b.js", "Accept-Encoding", accept)
		again := ask(h, "GET", "/assets/app-1a2b.js", "Accept-Encoding", accept, "If-None-Match", first.Header().Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("accepting %q: %d %q", accept, again.Code, again.Body)
		}
		if other := ask(h, "GET", "/assets/app-1a2b.js", "Accept-Encoding", "gzip", "If-None-Match", first.Header().Get("ETag")); other.Code != http.StatusOK {
			t.Errorf("gzip for an etag of %q: %d", accept, other.Code)
		}
	}
}

func TestKindsOfRequestsAreFew(t *testing.T) {
	for path, want := range map[string]string{
		"/": "GET /", "/clusters/edge-1": "GET /", "/login/session": "GET /login/session", "/k8s/clusters/edge-1/api/v1/pods": "GET /k8s/clusters/edge-1", "/metrics": "", "/healthz": "",
	} {
		if got := built().Kind(httptest.NewRequest("GET", path, nil)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestBuildWithoutConsoleSaysSo(t *testing.T) {
	for name, files := range map[string]fs.FS{"no build": fstest.MapFS{".keep": {}}, "no files": nil} {
		w := ask(NewConsole(files, "http://127.0.0.1:1", nil), "GET", "/services")
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "make web") {
			t.Errorf("%s: got %d %q", name, w.Code, w.Body.String())
		}
		if got := w.Header().Get("Content-Security-Policy"); !strings.Contains(got, "connect-src 'self' ws://127.0.0.1:1;") {
			t.Errorf("%s: policy %q", name, got)
		}
	}
}
