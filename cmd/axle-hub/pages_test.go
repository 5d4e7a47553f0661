package main_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/bin"
)

// What ships serves the console and the documentation as they are built, and says so where
// one is not. The hub of most tests has neither.
func TestWhatShipsHasThePages(t *testing.T) {
	shipped, err := bin.Path(t.Context(), "axle-hub", bin.Options{Pages: bin.Shipped})
	if err != nil {
		t.Fatal(err)
	}
	hubs := map[string]*process{"what ships": serveBy(t, shipped), "that of tests": serveBy(t, program(t))}
	for path, page := range map[string]struct{ file, without string }{
		"/":      {"../../web/dist/index.html", "This build holds no console"},
		"/docs/": {"../../docs/site/public/index.html", "This build holds no documentation"},
	} {
		built, err := os.ReadFile(page.file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for name, hub := range hubs {
			got := hub.body(path)
			if shows := strings.Contains(got, page.without); shows != (len(built) == 0 || name != "what ships") {
				t.Errorf("%s at %s, with %d bytes of %s:\n%s", name, path, len(built), page.file, got)
			}
			if name == "what ships" && len(built) > 0 && got != string(built) {
				t.Errorf("%s at %s is not %s:\n%s", name, path, page.file, got)
			}
		}
	}
}

// serveBy starts a hub of that program.
func serveBy(t *testing.T, program string) *process {
	t.Helper()
	return startProgram(t, program, nil, "serve", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0")
}

// body returns the body of an answer.
func (p *process) body(path string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.origin+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(body)
}
