package routes_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/routes"
)

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestMuxTellsWhatIsInIt(t *testing.T) {
	var m routes.Mux
	m.Handle("GET /plain", say("plain"))
	m.HandleFunc("/tree/", say("tree"))
	m.Early(func(path string) bool { return strings.HasPrefix(path, "/raw/") }, say("raw"), "/raw/")
	if got, want := m.Patterns(), []string{"/raw/", "/tree/", "GET /plain"}; !slices.Equal(got, want) {
		t.Errorf("patterns %q, want %q", got, want)
	}
	for path, want := range map[string]string{"/plain": "plain", "/tree/a/b": "tree", "/raw/../tree/": "raw", "/raw//x": "raw", "/other": "404 page not found\n"} {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := w.Body.String(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
