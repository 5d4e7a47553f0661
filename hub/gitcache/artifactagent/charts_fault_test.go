package artifactagent_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/gitcache/artifactagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/test/chartserver"
)

// indexOfTheField is the index of test/field/sources/texts.yaml.
func indexOfTheField(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../../test/field/sources/texts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []struct{ Index string } `json:"rows"`
	}
	if err := yaml.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		if row.Index != "" {
			return strings.ReplaceAll(row.Index, "\u008b", "\x8b")
		}
	}
	t.Fatal("no row has an index")
	return ""
}

// TestCompressedIndex reads an index whose file at the server is compressed, whatever it is asked for.
func TestCompressedIndex(t *testing.T) {
	t.Parallel()
	s := newCharts(t)
	publish(s, "1.0.0", "one")
	w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{})
	source := w.track("", "app")
	w.revision(source, "1.0.0")
	publish(s, "1.1.0", "two")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("apiVersion: v1\nentries:\n  app:\n  - name: app\n    version: 1.1.0\n    urls:\n    - app-1.1.0.tgz\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s.Fault("/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	})
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.revision(source, "1.1.0")
}

// TestFaultsOfAChartRepository checks that the head stays at the last good
// content whatever upstream does, that health gives the reason, and that
// everything heals when the fault ends.
func TestFaultsOfAChartRepository(t *testing.T) {
	t.Parallel()
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
		}
	}
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
	}
	tests := map[string]struct {
		fault http.HandlerFunc
		code  errcode.Code
		text  string
		after time.Duration
	}{
		"401":         {fault: status(401), code: errcode.Unauthorized, text: "check the repository's credentials"},
		"403":         {fault: status(403), code: errcode.Unauthorized, text: "may not read"},
		"404":         {fault: status(404), code: errcode.NotFound, text: "does not exist"},
		"429":         {fault: status(429, "Retry-After", "1200"), code: errcode.Unavailable, text: "429", after: 20 * time.Minute},
		"500":         {fault: status(500), code: errcode.Unavailable, text: "500"},
		"empty":       {fault: text(""), code: errcode.Unprocessable, text: "no entries"},
		"sign-in":     {fault: text("<html>sign in</html>"), code: errcode.Unprocessable, text: "no entries"},
		"garbage":     {fault: text("entries:\n  app:\n - version\n"), code: errcode.Unprocessable, text: "indented less"},
		"compressed":  {fault: text(indexOfTheField(t)), code: errcode.Unprocessable, text: "the index is compressed with gzip and its server does not declare it"},
		"said to be":  {fault: status(200, "Content-Encoding", "gzip"), code: errcode.Unavailable, text: "cannot be unpacked"},
		"elsewhere":   {fault: status(302, "Location", "https://charts.example.org/index.yaml"), code: errcode.Forbidden, text: "redirects to another host"},
		"downgrade":   {fault: status(302, "Location", "ftp://127.0.0.1/index.yaml"), code: errcode.Forbidden, text: "ftp"},
		"circle":      {fault: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, code: errcode.Unavailable, text: "more than 5 times"},
		"link-local":  {fault: status(302, "Location", "http://169.254.169.254/latest/"), code: errcode.Forbidden, text: "another host"},
		"cut":         {fault: cutOff, code: errcode.Unavailable, text: "middle of its answer"},
		"not allowed": {fault: status(204), code: errcode.Unavailable, text: "204"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCharts(t)
			publish(s, "1.0.0", "one")
			w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{})
			source := w.track("", "app")
			w.revision(source, "1.0.0")
			publish(s, "1.1.0", "two")
			s.Fault("/index.yaml", tt.fault)
			err := w.refresh()
			if !errcode.Is(err, tt.code) || !strings.Contains(err.Error(), tt.text) || errcode.RetryAfter(err) != tt.after {
				t.Errorf("pass ended with %v %v (%v)", errcode.Of(err), err, errcode.RetryAfter(err))
			}
			w.health(func(h record.Health) bool {
				return h.State == record.Failed && h.Message != "" && !h.FailedSince.IsZero()
			})
			if h := w.revision(source, "1.0.0"); h.Digest == "" {
				t.Errorf("head is %+v", h)
			}
			// A source that is new meanwhile learns why it has nothing.
			other := w.track("1.0.x", "app")
			if err := w.refresh(); err == nil {
				t.Error("the fault is over")
			}
			_ = w.head(other, "any word", func(h record.Head) bool { return h.Error != "" || h.Digest != "" })
			s.Fault("/index.yaml", nil)
			if tt.after > 0 {
				// Kicks wait as long as upstream's rate limit says; a changed
				// repository does not.
				if err := w.refresh(); err == nil {
					t.Error("upstream was not left alone")
				}
				r := w.repo
				r.Options.MaxBytes = 1 << 40
				if _, err := w.store.UpdateRepository(t.Context(), r, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.refresh(); err != nil {
				t.Fatal(err)
			}
			w.revision(source, "1.1.0")
			w.revision(other, "1.0.0")
			w.health(func(h record.Health) bool { return h.State == record.Pullable && h.Message == "" })
		})
	}
}

// cutOff promises more than it sends.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100000")
	_, _ = w.Write([]byte("entries:\n  app:\n"))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// TestBadCharts checks that an invalid archive is refused with an explanation,
// does not change the head, and is not fetched over and over.
func TestBadCharts(t *testing.T) {
	t.Parallel()
	entry := func(name string, kind byte, link string, size int64) tar.Header {
		return tar.Header{Name: name, Typeflag: kind, Linkname: link, Mode: 0o644, Size: size}
	}
	yaml := entry("app/Chart.yaml", tar.TypeReg, "", 3)
	pack := func(h ...tar.Header) []byte { return chartserver.Pack(append([]tar.Header{yaml}, h...), nil) }
	tests := map[string]struct {
		chart chartserver.Chart
		fault http.HandlerFunc
		text  string
		again bool // is tried at each poll, since it may be mended in place
	}{
		"path escape":     {chart: chartserver.Chart{Archive: pack(entry("app/../../evil", tar.TypeReg, "", 3))}, text: "outside"},
		"absolute":        {chart: chartserver.Chart{Archive: pack(entry("/etc/evil", tar.TypeReg, "", 3))}, text: "absolute"},
		"absolute link":   {chart: chartserver.Chart{Archive: pack(entry("app/l", tar.TypeSymlink, "/etc/passwd", 0))}, text: "absolute"},
		"escaping link":   {chart: chartserver.Chart{Archive: pack(entry("app/l", tar.TypeSymlink, "../../etc", 0))}, text: "outside"},
		"through a link":  {chart: chartserver.Chart{Archive: pack(entry("app/d", tar.TypeSymlink, "templates", 0), entry("app/d/x", tar.TypeReg, "", 3))}, text: "app"},
		"hard link":       {chart: chartserver.Chart{Archive: pack(entry("app/h", tar.TypeLink, "app/Chart.yaml", 0))}, text: "only files"},
		"device":          {chart: chartserver.Chart{Archive: pack(entry("app/null", tar.TypeChar, "", 0))}, text: "only files"},
		"twice":           {chart: chartserver.Chart{Archive: pack(yaml)}, text: "twice"},
		"case":            {chart: chartserver.Chart{Archive: pack(entry("app/chart.yaml", tar.TypeReg, "", 3))}, text: "case"},
		"beside":          {chart: chartserver.Chart{Archive: pack(entry("other", tar.TypeReg, "", 3))}, text: "outside"},
		"bomb":            {chart: chartserver.Chart{Archive: pack(entry("app/zeros", tar.TypeReg, "", 4<<20))}, text: "more than 1048576 bytes"},
		"many files":      {chart: chartserver.Chart{Archive: many(200)}, text: "more than 100 files"},
		"many folders":    {chart: chartserver.Chart{Archive: folders(1000)}, text: "more than 400 entries"},
		"no chart":        {chart: chartserver.Chart{Archive: chartserver.Pack([]tar.Header{entry("app/values.yaml", tar.TypeReg, "", 3)}, nil)}, text: "no Chart.yaml"},
		"no archive":      {chart: chartserver.Chart{Archive: []byte("<html>sign in</html>")}, text: "damaged"},
		"empty":           {chart: chartserver.Chart{Archive: []byte{}}, text: "empty"},
		"cut archive":     {chart: chartserver.Chart{Archive: pack(entry("app/x", tar.TypeReg, "", 3000))[:60]}, text: "damaged"},
		"too large":       {chart: chartserver.Chart{Archive: make([]byte, 3<<20)}, text: "larger than"},
		"wrong digest":    {chart: chartserver.Chart{Digest: strings.Repeat("ab", 32)}, text: "not what the index promises", again: true},
		"missing":         {fault: http.NotFound, text: "does not exist", again: true},
		"cut on the way":  {fault: cutOff, text: "middle of its answer", again: true},
		"to the metadata": {chart: chartserver.Chart{URL: "http://169.254.169.254/app.tgz"}, text: "is internal", again: true},
		"a file":          {chart: chartserver.Chart{URL: "file:///etc/passwd"}, text: "uses file", again: true},
		"in no registry":  {chart: chartserver.Chart{URL: "oci://127.0.0.1:1/app"}, text: "cannot be reached", again: true},
		"metadata by oci": {chart: chartserver.Chart{URL: "oci://169.254.169.254/app"}, text: "is internal", again: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCharts(t)
			publish(s, "1.0.0", "one")
			w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{}, func(c *artifactagent.Config) {
				c.Limits, c.MaxDownload = tarball.Limits{Bytes: 1 << 20, Files: 100, Depth: 8}, 2<<20
			})
			source := w.track("", "app")
			good := w.revision(source, "1.0.0")
			tt.chart.Name, tt.chart.Version = "app", "2.0.0"
			s.Publish(tt.chart)
			s.Fault("/app-2.0.0.tgz", tt.fault)
			if err := w.refresh(); err != nil {
				t.Errorf("one bad chart is not the repository's failure: %v", err)
			}
			h := w.failing(source, tt.text)
			if h.Digest != good.Digest || h.Revision != "1.0.0" {
				t.Errorf("head moved: %+v", h)
			}
			before := len(s.Requests("/app-2.0.0.tgz"))
			if err := w.refresh(); err != nil {
				t.Error(err)
			}
			if n := len(s.Requests("/app-2.0.0.tgz")) - before; n > 0 && !tt.again {
				t.Errorf("what was refused was fetched %d times more", n)
			}
			if left, err := filepath.Glob(filepath.Join(w.config.Dir, "tmp", "*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			s.Fault("/app-2.0.0.tgz", nil)
			s.Publish(chartserver.Chart{Name: "app", Version: "2.0.0", Files: map[string]string{"values.yaml": "good"}})
			if err := w.refresh(); err != nil {
				t.Fatal(err)
			}
			w.revision(source, "2.0.0")
		})
	}
}

func many(n int) []byte {
	headers := []tar.Header{{Name: "app/Chart.yaml", Typeflag: tar.TypeReg, Mode: 0o644}}
	for i := range n {
		headers = append(headers, tar.Header{Name: "app/f" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/7), Typeflag: tar.TypeReg, Mode: 0o644})
	}
	return chartserver.Pack(headers, nil)
}

func folders(n int) []byte {
	var headers []tar.Header
	for range n {
		headers = append(headers, tar.Header{Name: "app/d/", Typeflag: tar.TypeDir, Mode: 0o755})
	}
	return chartserver.Pack(headers, nil)
}

func TestAVersionThatLeavesUpstreamKeepsServing(t *testing.T) {
	t.Parallel()
	s := newCharts(t)
	publish(s, "1.0.0", "one")
	publish(s, "1.1.0", "two")
	w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{})
	source := w.track("1.1.x", "app")
	good := w.revision(source, "1.1.0")
	s.Remove("app", "1.1.0")
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	h := w.failing(source, "no version in")
	if h.Digest != good.Digest || !strings.Contains(h.Error, "the newest is 1.0.0") {
		t.Errorf("head is %+v", h)
	}
	if files, err := w.rebuild(good); err != nil || files["values.yaml"] != "two" {
		t.Errorf("rebuilt as %v, %v", files, err)
	}
	// A new life with the disk serves without upstream, and a damaged file is
	// seen and not served.
	w.stop()
	s.Fault("/index.yaml", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	w.start()
	if files, err := w.rebuild(good); err != nil || files["values.yaml"] != "two" {
		t.Errorf("rebuilt in a new life as %v, %v", files, err)
	}
	kept, err := filepath.Glob(filepath.Join(w.config.Dir, "kept", "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept are %v, %v", kept, err)
	}
	if err := os.WriteFile(kept[0], []byte("damage"), 0o644); err != nil {
		t.Fatal(err)
	}
	if files, err := w.rebuild(good); err == nil {
		t.Errorf("damage was served: %v", files)
	}
	// With upstream back and the version there again, it is fetched once more.
	publish(s, "1.1.0", "two")
	s.Fault("/index.yaml", nil)
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	if files, err := w.rebuild(good); err != nil || files["values.yaml"] != "two" {
		t.Errorf("fetched again as %v, %v", files, err)
	}
}

func TestAVersionThatIsPublishedAnew(t *testing.T) {
	t.Parallel()
	s := newCharts(t)
	publish(s, "1.0.0", "one")
	w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{})
	source := w.track("1.0.0", "app")
	good := w.revision(source, "1.0.0")
	publish(s, "1.0.0", "other")
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	h := w.head(source, "other content", func(h record.Head) bool { return h.Digest != good.Digest })
	if files := w.files(h); files["values.yaml"] != "other" {
		t.Errorf("content is %v", files)
	}
	if files, err := w.rebuild(good); err != nil || files["values.yaml"] != "one" {
		t.Errorf("what a rollback needs is %v, %v", files, err)
	}
}

func TestADeprecatedChartSaysSo(t *testing.T) {
	t.Parallel()
	s := newCharts(t)
	publish(s, "1.0.0", "one")
	w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{})
	source := w.track("", "app")
	w.revision(source, "1.0.0")
	s.Publish(chartserver.Chart{Name: "app", Version: "1.0.0", Files: map[string]string{"values.yaml": "one"}, Deprecated: true})
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.head(source, "a word of deprecation", func(h record.Head) bool {
		return strings.Contains(h.Message, "deprecated") && h.Error == "" && h.Revision == "1.0.0"
	})
}

// TestCredentialsStayWithTheirHost checks that the hub sends no credentials to
// another host that an index names.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	for name, pass := range map[string]bool{"kept": false, "passed on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got atomic.Pointer[string]
			archive := chartserver.Archive("app", "1.0.0", nil)
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				header := r.Header.Get("Authorization")
				got.Store(&header)
				_, _ = w.Write(archive)
			}))
			t.Cleanup(other.Close)
			s := newCharts(t)
			s.Require("ci", "secret-password", "")
			s.Publish(chartserver.Chart{Name: "app", Version: "1.0.0", Archive: archive, URL: other.URL + "/app.tgz"})
			w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL(), Auth: record.AuthBasic, Options: record.Options{PassCredentials: pass}},
				record.Credentials{Username: "ci", Password: "secret-password"})
			w.revision(w.track("", "app"), "1.0.0")
			if header := *got.Load(); (header != "") != pass {
				t.Errorf("the other host was sent %q", header)
			}
		})
	}
}

func TestWaysToAChartRepository(t *testing.T) {
	t.Parallel()
	t.Run("bearer", func(t *testing.T) {
		t.Parallel()
		s := newCharts(t)
		s.Require("", "", "the-token")
		publish(s, "1.0.0", "one")
		w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL(), Auth: record.AuthBearer}, record.Credentials{Password: "the-token"})
		w.revision(w.track("", "app"), "1.0.0")
	})
	t.Run("private authority", func(t *testing.T) {
		t.Parallel()
		s := chartserver.Start(true)
		t.Cleanup(s.Close)
		publish(s, "1.0.0", "one")
		w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{})
		source := w.track("", "app")
		w.failing(source, "certificate")
		ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.HTTP().Certificate().Raw}))
		if _, err := x509.ParseCertificate(s.HTTP().Certificate().Raw); err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.UpdateRepository(t.Context(), w.repo, &record.Credentials{CA: ca}); err != nil {
			t.Fatal(err)
		}
		w.agent.SourcesChanged() // like the feed
		w.revision(source, "1.0.0")
	})
	t.Run("proxy", func(t *testing.T) {
		t.Parallel()
		s := newCharts(t)
		publish(s, "1.0.0", "one")
		var asked atomic.Int32
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Proxy-Authorization") != "Basic dTpw" {
				w.WriteHeader(http.StatusProxyAuthRequired)
				return
			}
			asked.Add(1)
			(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}).ServeHTTP(w, r)
		}))
		t.Cleanup(proxy.Close)
		w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL(), Options: record.Options{Proxy: proxy.URL}},
			record.Credentials{ProxyUsername: "u", ProxyPassword: "p"})
		w.revision(w.track("", "app"), "1.0.0")
		if asked.Load() < 2 {
			t.Errorf("the proxy was asked %d times", asked.Load())
		}
	})
	t.Run("inside the hub's network", func(t *testing.T) {
		t.Parallel()
		s := newCharts(t)
		publish(s, "1.0.0", "one")
		w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{}, func(c *artifactagent.Config) { c.Dialer = &upstream.Dialer{} })
		w.failing(w.track("", "app"), "--allow-upstream-cidrs")
	})
}

func TestADiskThatIsFull(t *testing.T) {
	t.Parallel()
	s := newCharts(t)
	publish(s, "1.0.0", "one")
	w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{})
	w.node.fail(errcode.New(errcode.Exhausted, "no disk space"))
	source := w.track("", "app")
	if h := w.failing(source, "no disk space"); h.ErrorCode != errcode.Exhausted {
		t.Errorf("head is %+v", h)
	}
	w.node.fail(nil)
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.revision(source, "1.0.0")
	if n := len(s.Requests("/app-1.0.0.tgz")); n != 1 {
		t.Errorf("the chart was fetched %d times", n)
	}
}

// health waits until the repository's health is as wanted.
func (w *world) health(good func(record.Health) bool) {
	w.t.Helper()
	w.until("health", func() error {
		r, err := w.store.Repository(w.t.Context(), w.repo.ID)
		if err == nil && !good(r.Health) {
			err = errors.New("health is " + string(r.Health.State) + " " + r.Health.Message)
		}
		return err
	})
}
