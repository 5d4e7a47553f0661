package git_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/test/gitserver"
)

// offer is a row of test/field/sources/servers.yaml.
type offer struct {
	Server   string   `json:"server"`
	From     string   `json:"from"`
	Version2 []string `json:"version2"`
	Version0 []string `json:"version0"`
	Requires string   `json:"requires"`
}

// TestServersOfTheField lists and fetches from each server of the table: a real one behind a front
// that offers what the row says, and ends a request that names something else, as git does.
func TestServersOfTheField(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../test/field/sources/servers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []offer `json:"rows"`
	}
	if err := yaml.Unmarshal(text, &table); err != nil || len(table.Rows) < 11 {
		t.Fatalf("%d rows, %v", len(table.Rows), err)
	}
	for _, row := range table.Rows {
		t.Run(row.Server, func(t *testing.T) {
			t.Parallel()
			s := newGit(t, gitserver.Config{})
			f := newFront(t, s, row)
			srv, to := server(t, newUpstream(t, git.Config{}), git.Access{URL: f.URL + "/" + repo + ".git"}), newRepository(t)
			for _, text := range []string{"2", "3"} { // the second fetch negotiates
				want := commit(t, s, "main", text)
				refs, err := pull(t.Context(), srv, to)
				if err != nil || refs["refs/heads/main"] != want {
					t.Errorf("%v, %v; want main at %s", refs, err, want)
				}
			}
			_, l, err := list(t.Context(), srv)
			if err != nil || l.Default != "refs/heads/main" || l.Format != "sha1" {
				t.Errorf("%+v, %v", l, err)
			}
			if wrong := f.complaints(); len(wrong) > 0 {
				t.Errorf("asked for what is not offered: %q", wrong)
			}
		})
	}
}

// front is a server that offers what a row says.
type front struct {
	*httptest.Server
	row    offer
	behind *httputil.ReverseProxy

	mu    sync.Mutex
	wrong []string
}

func newFront(t *testing.T, s *gitserver.Server, row offer) *front {
	t.Helper()
	to, err := url.Parse("http://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	f := &front{row: row, behind: httputil.NewSingleHostReverseProxy(to)}
	f.behind.ModifyResponse = f.offered
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *front) complaints() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.wrong)
}

// ServeHTTP refuses what the row does not offer, and has the real server answer the rest.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(f.row.Version2) == 0 {
		r.Header.Del("Git-Protocol")
	}
	if r.Method != http.MethodPost {
		f.behind.ServeHTTP(w, r)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	if r.Header.Get("Content-Encoding") == "gzip" {
		if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			raw, _ = io.ReadAll(z)
		}
	}
	check := f.version0
	if r.Header.Get("Git-Protocol") != "" {
		check = f.version2
	}
	if wrong := check(packets(raw)); wrong != "" {
		f.mu.Lock()
		f.wrong = append(f.wrong, wrong)
		f.mu.Unlock()
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		return // git ends without a word
	}
	f.behind.ServeHTTP(w, r)
}

// version2 returns what a request of protocol 2 names and the row does not offer.
func (f *front) version2(lines []string) string {
	features := map[string]string{}
	for _, line := range f.row.Version2 {
		key, value, _ := strings.Cut(line, "=")
		features[key] = " " + value + " "
	}
	command, arguments := "", false
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		_, offered := features[key]
		word, _, _ := strings.Cut(line, " ")
		switch {
		case line == delimiter:
			arguments = true
		case !arguments && key == "command":
			if command = value; features[value] == "" {
				return line
			}
		case !arguments && !offered:
			return line
		case arguments && command == "fetch" && slices.Contains([]string{"filter", "wait-for-done", "sideband-all", "packfile-uris", "want-ref"}, word) && !strings.Contains(features["fetch"], " "+word+" "):
			return line
		}
	}
	return ""
}

// version0 returns what a request of protocol 0 names and the row does not offer, or what it lacks.
func (f *front) version0(lines []string) string {
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "want ") {
		return fmt.Sprintf("%q", lines)
	}
	words, offered := strings.Fields(lines[0])[2:], strings.Fields(strings.Join(f.row.Version0, " "))
	for _, word := range words {
		key, _, _ := strings.Cut(word, "=")
		if !slices.ContainsFunc(offered, func(o string) bool { return o == word || strings.HasPrefix(o, key+"=") }) {
			return word
		}
	}
	if want := f.row.Requires; want != "" && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, want) }) {
		return "no " + want
	}
	return ""
}

// offered replaces what the real server offers.
func (f *front) offered(resp *http.Response) error {
	if !strings.HasSuffix(resp.Request.URL.Path, "/info/refs") {
		return nil
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var out strings.Builder
	write := func(line string) { fmt.Fprintf(&out, "%04x%s\n", len(line)+5, line) }
	write("# service=git-upload-pack")
	out.WriteString("0000")
	for i, line := range packets(raw) {
		before, _, first := strings.Cut(line, "\x00")
		switch {
		case strings.HasPrefix(line, "# service="):
		case line == "version 2":
			for _, line := range append([]string{line}, f.row.Version2...) {
				write(line)
			}
		case len(f.row.Version2) > 0 || i == 0:
		case first:
			write(before + "\x00" + strings.Join(f.row.Version0, " ") + " symref=HEAD:refs/heads/main")
		default:
			write(line)
		}
	}
	out.WriteString("0000")
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(out.String())), int64(out.Len())
	resp.Header.Set("Content-Length", strconv.Itoa(out.Len()))
	return nil
}

// delimiter stands for the packet between capabilities and arguments.
const delimiter = "0001"

// packets are the lines of a message, without flushes.
func packets(raw []byte) (out []string) {
	for len(raw) >= 4 {
		n, err := strconv.ParseUint(string(raw[:4]), 16, 16)
		switch {
		case err != nil || int(n) > len(raw):
			return out
		case n < 4:
			if n == 1 {
				out = append(out, delimiter)
			}
			raw = raw[4:]
			continue
		}
		out, raw = append(out, strings.TrimSuffix(string(raw[4:n]), "\n")), raw[n:]
	}
	return out
}
