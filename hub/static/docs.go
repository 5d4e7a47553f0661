package static

import (
	"io/fs"
	"net/http"
	"path"
	"regexp"
)

// DocsPrefix is where the documentation is.
const DocsPrefix = "/docs/"

// docsPolicy lets a page use the site's own style, script, pictures and search index alone.
const docsPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// named are files that have the hash of their content in their name.
var named = regexp.MustCompile(`\.[0-9a-f]{64}\.(css|js)$`)

const noDocs = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Axle documentation</title>
<h1>This build holds no documentation</h1>
<p>Run <code>make docs</code> and build the hub again, or read the Markdown files in the folder <code>docs</code> of the source.</p>
`

// Docs answers GET and HEAD below DocsPrefix with some files; nil are none.
func Docs(files fs.FS) http.Handler {
	whole := false
	if files != nil {
		_, err := fs.Stat(files, "index.html")
		whole = err == nil
	}
	pages := http.StripPrefix(path.Clean(DocsPrefix), http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", docsPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "max-age=300")
		if !whole {
			header.Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusServiceUnavailable)
			// Whoever went away does not want to know.
			_, _ = w.Write([]byte(noDocs))
			return
		}
		if named.MatchString(r.URL.Path) {
			header.Set("Cache-Control", "max-age=31536000, immutable")
		}
		pages.ServeHTTP(w, r)
	})
}
