package static

import (
	"io/fs"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPagesAreServed(t *testing.T) {
	script := "docs.min." + strings.Repeat("0a", 32) + ".js"
	site := Docs(fstest.MapFS{
		"index.html":        {Data: []byte("home")},
		"drift/index.html":  {Data: []byte("drift")},
		script:              {Data: []byte("1")},
		"spec/vectors.json": {Data: []byte("{}")},
	})
	tests := map[string]struct {
		path  string
		code  int
		body  string
		cache string
	}{
		"home":        {"/docs/", 200, "home", "max-age=300"},
		"a page":      {"/docs/drift/", 200, "drift", "max-age=300"},
		"no slash":    {"/docs/drift", 301, "", "max-age=300"},
		"a script":    {"/docs/" + script, 200, "1", "max-age=31536000, immutable"},
		"not there":   {"/docs/nowhere/", 404, "404 page not found\n", ""},
		"a data file": {"/docs/spec/vectors.json", 200, "{}", "max-age=300"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			site.ServeHTTP(w, httptest.NewRequest("GET", tc.path, nil))
			if w.Code != tc.code || (tc.body != "" && w.Body.String() != tc.body) {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body.String(), tc.code, tc.body)
			}
			if got := w.Header().Get("Cache-Control"); tc.code < 400 && got != tc.cache {
				t.Errorf("Cache-Control %q, want %q", got, tc.cache)
			}
			if got := w.Header().Get("Content-Security-Policy"); got != docsPolicy {
				t.Errorf("policy %q", got)
			}
		})
	}
}

func TestABuildWithoutTheSiteSaysSo(t *testing.T) {
	for name, files := range map[string]fs.FS{"no build": fstest.MapFS{".keep": {}}, "no files": nil} {
		w := httptest.NewRecorder()
		Docs(files).ServeHTTP(w, httptest.NewRequest("GET", "/docs/drift/", nil))
		if w.Code != 503 || !strings.Contains(w.Body.String(), "make docs") {
			t.Errorf("%s: got %d %q", name, w.Code, w.Body.String())
		}
	}
}
