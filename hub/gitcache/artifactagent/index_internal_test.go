package artifactagent

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzIndex takes any answer as the index of a chart repository, as it is and unpacked.
func FuzzIndex(f *testing.F) {
	pack := func(text string) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		if _, err := io.WriteString(z, text); err != nil {
			f.Fatal(err)
		}
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
		return out.Bytes()
	}
	const index = "apiVersion: v1\nentries:\n  app:\n  - name: app\n    version: 1.1.0\n    urls:\n    - app-1.1.0.tgz\n"
	for _, text := range []string{"", index, `{"apiVersion": "v1", "entries": {}}`, index + strings.Repeat("  - {}\n", 1000), strings.Repeat(" ", 1<<20)} {
		f.Add([]byte(text), false)
		f.Add(pack(text), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, packed bool) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o755); err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		if packed {
			header.Set("Content-Encoding", "gzip")
		}
		c := &charts{config: &Config{Dir: dir}}
		c.repository.URL = "https://charts.example.com"
		// Gzip makes a byte at most 1,032.
		var err error
		bytes := taken.By(func() { err = c.take(&http.Response{Header: header, Body: io.NopCloser(bytes.NewReader(text))}) })
		if bytes > 8<<20+1032*len(text) {
			t.Errorf("%d bytes take %d: %v", len(text), bytes, err)
		}
	})
}
