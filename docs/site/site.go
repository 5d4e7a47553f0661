// Package site serves the documentation that `make docs` built from the
// Markdown of docs/, from files inside the binary. It has no state and needs
// no login: the pages are the product's, not a fleet's.
//
// A binary that was built without the site answers with one page that says so.
// The hub calls it.
package site

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"regexp"
)

// Prefix is where the pages are.
const Prefix = "/docs/"

//go:embed all:public
var built embed.FS

// policy lets a page use the site's own style, script, pictures and search index alone.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// named are files that have the hash of their content in their name.
var named = regexp.MustCompile(`\.[0-9a-f]{64}\.(css|js)$`)

const missing = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Axle documentation</title>
<h1>This build holds no documentation</h1>
<p>Run <code>make docs</code> and build the hub again, or read the Markdown files in the folder <code>docs</code> of the source.</p>
`

// Handler answers GET and HEAD below Prefix.
func Handler() http.Handler {
	files, err := fs.Sub(built, "public")
	if err != nil {
		return http.NotFoundHandler()
	}
	return handler(files)
}

func handler(files fs.FS) http.Handler {
	_, err := fs.Stat(files, "index.html")
	whole := err == nil
	pages := http.StripPrefix(path.Clean(Prefix), http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "max-age=300")
		if !whole {
			header.Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusServiceUnavailable)
			// Whoever went away does not want to know.
			_, _ = w.Write([]byte(missing))
			return
		}
		if named.MatchString(r.URL.Path) {
			header.Set("Cache-Control", "max-age=31536000, immutable")
		}
		pages.ServeHTTP(w, r)
	})
}
