package static

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
)

const (
	// index is the page that answers every path of the console.
	index = "index.html"
	// assets are the files whose names have the hash of their content.
	assets = "assets/"
	// consolePolicy lets the page use the hub's own files and calls alone; %s is the
	// origin of its WebSockets, because not every browser counts them to 'self'.
	consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'%s; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

const noConsole = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Axle console</title>
<h1>This build holds no console</h1>
<p>Run <code>make web</code> and build the hub again. <a href="/login/account">Your account</a>, the command line and the API work without it.</p>
`

// encodings are the forms in which the build leaves a file, the smallest first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// Console is the application of one build. It answers GET and HEAD of every path
// that no other route owns, and does not change.
type Console struct {
	files  map[string]*file
	policy string
	owned  map[string]bool
}

// segment returns the first segment of a path: the part of the hub that owns it.
func segment(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// Kind returns the kind of a request, for traces: without variable parts such as a
// digest, a webhook's ID or the name of a cluster. It is empty for probes.
func (c *Console) Kind(r *http.Request) string {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 4)
	switch {
	case parts[0] == "healthz" || parts[0] == "readyz" || parts[0] == "metrics":
		return ""
	case !c.owned[parts[0]]:
		return r.Method + " /"
	}
	return r.Method + " /" + strings.Join(parts[:min(3, len(parts))], "/")
}

// file is one file in all its encodings.
type file struct {
	kind string
	etag string
	// body by encoding; "" is the plain one.
	body map[string][]byte
}

// NewConsole returns the console of some files; nil are none. origin is the hub's URL as
// browsers see it, patterns are those of all other routes, as of http.ServeMux.
func NewConsole(files fs.FS, origin string, patterns []string) *Console {
	// Metrics may have a listener of their own.
	c := &Console{files: map[string]*file{}, owned: map[string]bool{"metrics": true}, policy: fmt.Sprintf(consolePolicy, socketOrigin(origin))}
	for _, pattern := range patterns {
		c.owned[segment(pattern[strings.IndexByte(pattern, '/')+1:])] = true
	}
	if files == nil {
		return c
	}
	// A file of an embedded folder cannot fail to be read; without its files the
	// console says that it is missing.
	_ = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		c.add(name, body)
		return nil
	})
	return c
}

func (c *Console) add(name string, body []byte) {
	encoding := ""
	for _, e := range encodings {
		if plain, ok := strings.CutSuffix(name, e.suffix); ok {
			name, encoding = plain, e.name
		}
	}
	f := c.files[name]
	if f == nil {
		f = &file{kind: kindOf(name), body: map[string][]byte{}}
		c.files[name] = f
	}
	f.body[encoding] = body
	if encoding == "" {
		sum := sha256.Sum256(body)
		f.etag = hex.EncodeToString(sum[:12])
	}
}

func kindOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".webmanifest":
		return "application/manifest+json"
	case ".woff2":
		return "font/woff2"
	case ".map":
		return "application/json"
	default:
		if kind := mime.TypeByExtension(ext); kind != "" {
			return kind
		}
		return "application/octet-stream"
	}
}

// socketOrigin is the source of WebSockets of a hub with this URL, for the policy.
func socketOrigin(origin string) string {
	u, err := url.Parse(origin)
	switch {
	case err != nil || u.Host == "":
		return ""
	case u.Scheme == "https":
		return " wss://" + u.Host
	default:
		return " ws://" + u.Host
	}
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || c.owned[segment(r.URL.Path)] || strings.HasPrefix(r.URL.Path, "/axle.") {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", c.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	name := strings.TrimPrefix(r.URL.Path, "/")
	page := c.files[index]
	switch f := c.files[name]; {
	case page == nil || page.body[""] == nil:
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		// Whoever went away does not want to know.
		_, _ = w.Write([]byte(noConsole))
	case f != nil && f.body[""] != nil:
		f.serve(w, r, strings.HasPrefix(name, assets))
	case strings.HasPrefix(name, assets), !strings.Contains(name, "/") && strings.Contains(name, "."):
		// A page of an older build asks for its files, or a browser for an icon.
		header.Set("Cache-Control", "no-cache")
		http.NotFound(w, r)
	default:
		page.serve(w, r, false)
	}
}

func (f *file) serve(w http.ResponseWriter, r *http.Request, immutable bool) {
	header := w.Header()
	header.Set("Content-Type", f.kind)
	header.Set("Cache-Control", "no-cache")
	if immutable {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	encoding := f.encoding(r.Header.Values("Accept-Encoding"))
	if len(f.body) > 1 {
		header.Set("Vary", "Accept-Encoding")
	}
	etag := `"` + f.etag + `"`
	if encoding != "" {
		header.Set("Content-Encoding", encoding)
		etag = `"` + f.etag + "-" + encoding + `"`
	}
	header.Set("ETag", etag)
	if strings.Contains(r.Header.Get("If-None-Match"), etag) {
		header.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.body[encoding]
	header.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body)
}

// encoding returns the smallest form that a client accepts.
func (f *file) encoding(accepted []string) string {
	accepts := map[string]bool{}
	for part := range strings.SplitSeq(strings.ToLower(strings.Join(accepted, ",")), ",") {
		name, parameters, _ := strings.Cut(part, ";")
		q := strings.ReplaceAll(strings.TrimSpace(parameters), " ", "")
		refused := strings.HasPrefix(q, "q=0") && strings.Trim(q, "q=0.") == ""
		accepts[strings.TrimSpace(name)] = !refused
	}
	for _, e := range encodings {
		if f.body[e.name] != nil && accepts[e.name] {
			return e.name
		}
	}
	return ""
}
