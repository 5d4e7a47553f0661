package artifactagent

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/archive"
	"github.com/axle-cd/axle/hub/gitcache/upstream/chartindex"
	"github.com/axle-cd/axle/hub/gitcache/upstream/provenance"
	"github.com/axle-cd/axle/hub/gitcache/upstream/registry"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
)

// charts is a chart repository over HTTP. The index is on disk as it came, with
// its validators, and in memory once, packed.
type charts struct {
	config     *Config
	repository record.Repository
	client     *wire.Client
	auth       wire.Auth
	index      *chartindex.Index
	known      validators
}

// validators are the headers of a conditional request.
type validators struct {
	URL          string `json:"url"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
	SHA256       string `json:"sha256"`
}

func newCharts(c *Config, r record.Repository, creds record.Credentials, client *wire.Client) (protocol, error) {
	auth, err := c.httpAuth(r, creds, client)
	if err != nil {
		return nil, err
	}
	return &charts{config: c, repository: r, client: client, auth: auth}, nil
}

func (c *charts) close() { c.client.Close() }

func (c *charts) indexFile() string { return filepath.Join(c.config.Dir, "index") }
func (c *charts) knownFile() string { return filepath.Join(c.config.Dir, "index.json") }

// indexURL returns the URL of the index.
func (c *charts) indexURL() string {
	return strings.TrimSuffix(c.repository.URL, "/") + "/index.yaml"
}

// remember reads what an earlier run left on disk.
func (c *charts) remember() {
	raw, err := os.ReadFile(c.knownFile())
	var v validators
	if err != nil || json.Unmarshal(raw, &v) != nil || v.URL != c.indexURL() {
		return
	}
	if x, err := parseFile(c.indexFile()); err == nil {
		c.index, c.known = x, v
	}
}

func parseFile(name string) (*chartindex.Index, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return chartindex.Parse(f)
}

// refresh fetches the index if it changed.
func (c *charts) refresh(ctx context.Context, _ []record.Source) error {
	if c.index == nil {
		c.remember()
	}
	header := http.Header{"Accept-Encoding": {"identity"}}
	if c.known.ETag != "" {
		header.Set("If-None-Match", c.known.ETag)
	}
	if c.known.LastModified != "" {
		header.Set("If-Modified-Since", c.known.LastModified)
	}
	answer, err := c.client.Do(ctx, wire.Request{URL: c.indexURL(), Header: header, Auth: c.auth, Accept: []int{http.StatusNotModified}})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotModified && c.index != nil {
		return nil
	}
	if answer.StatusCode != http.StatusOK {
		return errcode.New(errcode.Unavailable, "%s answers %s to a request for the index", c.indexURL(), answer.Status)
	}
	return c.take(answer)
}

// take stores a new index and parses it. The previous one is dropped from
// memory meanwhile, and read again from disk when the new one is invalid.
func (c *charts) take(answer *http.Response) error {
	f, err := os.CreateTemp(filepath.Join(c.config.Dir, "tmp"), "index-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	body := io.Reader(answer.Body)
	if answer.Header.Get("Content-Encoding") == "gzip" {
		// The server's file is compressed, whatever it was asked for. Helm asks for that.
		if body, err = gzip.NewReader(answer.Body); err != nil {
			return errors.Join(errcode.New(errcode.Unavailable, "%s declares an index that is compressed with gzip, but it cannot be unpacked: %w", c.indexURL(), err), f.Close())
		}
	}
	_, sum, err := wire.Copy(f, body, chartindex.MaxBytes, "the chart repository's index")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	next := validators{URL: c.indexURL(), ETag: answer.Header.Get("ETag"), LastModified: answer.Header.Get("Last-Modified"), SHA256: sum}
	if c.index == nil || sum != c.known.SHA256 {
		c.index = nil
		x, err := parseFile(f.Name())
		if err != nil {
			c.remember()
			return err
		}
		// Move the index first: with old validators beside a new index, the
		// next start makes one request too many, but never one too few.
		if err := errors.Join(os.RemoveAll(c.knownFile()), os.Rename(f.Name(), c.indexFile())); err != nil {
			return err
		}
		c.index = x
	}
	c.known = next
	raw, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return atomicfile.Write(c.knownFile(), raw, 0o644)
}

// knows returns true: the index lists all charts.
func (c *charts) knows([]record.Source) bool { return c.index != nil }

func (c *charts) resolve(s record.Source) (target, error) {
	if c.index == nil {
		return target{}, errcode.New(errcode.Unavailable, "the chart repository was not read yet")
	}
	v, err := c.index.Find(s.Folder, s.Ref)
	if err != nil {
		return target{}, err
	}
	return c.target(v)
}

func (c *charts) target(v chartindex.Version) (target, error) {
	base, err := url.Parse(strings.TrimSuffix(c.repository.URL, "/") + "/")
	if err != nil {
		return target{}, err
	}
	u, err := base.Parse(v.URL)
	if err != nil {
		return target{}, errcode.New(errcode.Unprocessable, "chart %s %s has a URL that cannot be read", v.Chart, v.Version)
	}
	t := target{Revision: v.Version, Commit: v.Version, Folder: v.Chart, CreatedAt: v.Created, Message: v.Chart + " " + v.Version, url: u.String(), digest: v.Digest}
	if v.Deprecated {
		t.Message += " (deprecated by its maintainers)"
	}
	identity := v.Digest
	if identity == "" {
		identity = v.URL + " " + v.Created.UTC().String()
	}
	t.Key = strings.Join([]string{"helm 1", v.Chart, v.Version, identity, fingerprint(c.repository.Options.Verify)}, "\n")
	return t, nil
}

// recall finds the version of a recipe, if its bytes did not change.
func (c *charts) recall(r record.Recipe) (target, error) {
	if c.index == nil {
		return target{}, errcode.New(errcode.Unavailable, "the chart repository was not read yet")
	}
	v, err := c.index.Find(r.Folder, r.Commit)
	if err != nil {
		return target{}, err
	}
	t, err := c.target(v)
	if err == nil && t.Key != r.Tree {
		err = errcode.New(errcode.Unprocessable, "version %s of chart %s was published again with other content", r.Commit, r.Folder)
	}
	return t, err
}

// fetch downloads a chart, verifies it and unpacks it without its top folder,
// so that Chart.yaml is at the root.
func (c *charts) fetch(ctx context.Context, t *target, dir string) error {
	if rest, ok := strings.CutPrefix(t.url, "oci://"); ok {
		return c.fromRegistry(ctx, *t, rest, dir)
	}
	f, err := os.CreateTemp(filepath.Join(c.config.Dir, "tmp"), "chart-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	answer, err := c.client.Do(ctx, wire.Request{URL: t.url, Auth: c.authFor(t.url), OtherHosts: true})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	what := "chart " + t.Folder + " " + t.Revision
	_, sum, err := wire.Copy(f, answer.Body, c.config.MaxDownload, what)
	if err != nil {
		return err
	}
	if t.digest != "" && sum != t.digest {
		return unlikeIndex(what, sum, t.digest)
	}
	if err := c.verify(ctx, *t, sum); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return unpackChart(ctx, f, dir, what, c.config)
}

// unlikeIndex is the error of a chart whose SHA-256 is not the one in the index.
func unlikeIndex(what, sum, promised string) error {
	return errcode.New(errcode.Unavailable, "%s is not what the index promises: its SHA-256 is %.12s…, the index has %.12s…; the repository has to be published again", what, sum, promised)
}

// fromRegistry fetches a chart that its index has in a registry, as anybody may
// read it: the credentials are the chart repository's.
func (c *charts) fromRegistry(ctx context.Context, t target, ref, dir string) error {
	host, path, _ := strings.Cut(ref, "/")
	path, tag, ok := strings.Cut(path, "@")
	if !ok {
		if path, tag, ok = strings.Cut(path, ":"); !ok {
			tag = t.Commit
		}
	}
	a := &artifacts{config: c.config, repository: c.repository, client: c.client, charts: true, registry: registry.New(registry.Config{Host: host, Client: c.client})}
	got := a.askAt(ctx, path, tag)
	if got.err != nil {
		return got.err
	}
	there := a.target(path, got.descriptor)
	there.promised = t.digest
	return a.fetch(ctx, &there, dir)
}

// unpackChart unpacks a chart's archive and checks that it is a chart.
func unpackChart(ctx context.Context, r io.Reader, dir, what string, c *Config) error {
	if _, err := archive.Unpack(ctx, r, dir, archive.Options{Strip: true, Limits: c.Limits}); err != nil {
		if coded := errcode.Of(err); coded == errcode.Unprocessable {
			return errcode.New(coded, "%s: %w", what, err)
		}
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err != nil {
		return errcode.New(errcode.Unprocessable, "%s has no Chart.yaml in its folder", what)
	}
	return nil
}

// authFor returns credentials for the repository's own host, and for others
// only where the repository allows it.
func (c *charts) authFor(raw string) wire.Auth {
	u, err := url.Parse(raw)
	own, err2 := url.Parse(c.repository.URL)
	if errors.Join(err, err2) != nil {
		return nil
	}
	if wire.SameHost(u, own) || c.repository.Options.PassCredentials {
		return c.auth
	}
	return nil
}

// verify checks the provenance file of a chart where one is required.
func (c *charts) verify(ctx context.Context, t target, sum string) error {
	v := c.repository.Options.Verify
	what := "chart " + t.Folder + " " + t.Revision
	if v.Mode == "" {
		return nil
	}
	if v.Mode != "provenance" {
		return errcode.New(errcode.Unprocessable, "verification %q is not known for chart repositories; use provenance", v.Mode)
	}
	answer, err := c.client.Do(ctx, wire.Request{URL: t.url + ".prov", Auth: c.authFor(t.url), OtherHosts: true})
	if errcode.Is(err, errcode.NotFound) {
		return errcode.New(errcode.Unprocessable, "%s has no provenance file; publish it with helm package --sign, or turn verification off", what)
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := wire.ReadAll(answer.Body, provenance.MaxBytes, "the provenance file of "+what)
	if err != nil {
		return err
	}
	return checkProvenance(raw, v.Keys, provenance.Chart{Name: t.Folder, Version: t.Revision, SHA256: sum}, what)
}

// checkProvenance verifies a chart against its provenance file.
func checkProvenance(raw []byte, texts []string, c provenance.Chart, what string) error {
	keys, err := provenance.ParseKeys(texts)
	if err == nil {
		err = keys.Verify(raw, c)
	}
	if err != nil {
		return errcode.New(errcode.Unprocessable, "%s is not verified: %s", what, errcode.Message(err))
	}
	return nil
}
