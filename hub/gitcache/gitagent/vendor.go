package gitagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/internal/vendored"
)

// maxParts limits how much content of other repositories one source may have.
const maxParts = 100

// errElsewhere means that the cause is in another repository, where it may
// disappear without a commit in this one.
var errElsewhere = errors.New("content of another repository")

// elsewhereError keeps the text and the code of another repository's error.
type elsewhereError struct{ error }

// Unwrap keeps the code.
func (e elsewhereError) Unwrap() error { return e.error }

// Is reports that it matches errElsewhere.
func (e elsewhereError) Is(target error) bool { return target == errElsewhere }

// gathered is a source's content of other repositories.
type gathered struct {
	parts    []record.Part
	vendored *vendored.Contents
}

// vendoring collects the parts of one source.
type vendoring struct {
	agent   *Agent
	source  record.Source
	commit  mirror.Commit
	content *mirror.Content
	reader  *mirror.Reader

	out   gathered
	seen  map[string]string   // identity of a reference to the folder of its copy
	taken map[string]bool     // paths in use
	files map[string]fileList // of parts, by their path
	todo  []references.External
}

// fileList are the paths of one part.
type fileList map[string]bool

// gather finds all content of other repositories: submodules at their paths,
// charts and bases, and what those refer to in turn.
func (a *Agent) gather(ctx context.Context, reader *mirror.Reader, s record.Source, c mirror.Commit, content *mirror.Content) (gathered, error) {
	if s.Options.LFS {
		if err := a.fetchLFS(ctx, reader, content); err != nil {
			return gathered{}, elsewhereError{err}
		}
	}
	v := &vendoring{agent: a, source: s, commit: c, content: content, reader: reader,
		seen: map[string]string{}, taken: map[string]bool{}, files: map[string]fileList{}, todo: content.External}
	for _, n := range content.External {
		if err := v.problem(n); err != nil {
			return gathered{}, err // before anything is fetched
		}
	}
	for _, l := range content.Links {
		if err := v.submodule(ctx, l); err != nil {
			return gathered{}, err
		}
	}
	for len(v.todo) > 0 {
		n := v.todo[0]
		v.todo = v.todo[1:]
		if err := v.external(ctx, n); err != nil {
			return gathered{}, err
		}
	}
	return v.out, nil
}

// submodule puts the content of a submodule at its path.
func (v *vendoring) submodule(ctx context.Context, l mirror.Link) error {
	w := Wanted{Kind: record.Git, URL: l.URL, Ref: l.Commit, Options: record.SourceOptions{Submodules: true, LFS: v.source.Options.LFS, Bare: true}}
	found, err := v.find(ctx, w)
	if err != nil {
		return v.failed(err, "submodule %q", path.Join(v.content.Root, l.Path))
	}
	return v.add(ctx, record.Part{Path: l.Path, Digest: found.Digest, Recipe: found.Recipe}, !v.source.Options.Bare)
}

func (v *vendoring) find(ctx context.Context, w Wanted) (Found, error) {
	if v.agent.config.Parts == nil {
		return Found{}, errcode.New(errcode.Unprocessable, "this hub does not fetch content of other repositories")
	}
	return v.agent.config.Parts.Find(ctx, v.source.RepositoryID, w)
}

// add adds a part and, unless it is a packed chart, searches its files for
// further references.
func (v *vendoring) add(ctx context.Context, p record.Part, scan bool) error {
	if len(v.out.parts) >= maxParts {
		return errcode.New(errcode.Unprocessable, "the folder refers to content of more than %d other sources", maxParts)
	}
	v.out.parts = append(v.out.parts, p)
	if !scan {
		return nil
	}
	f, err := v.agent.openPart(ctx, p)
	if err != nil {
		return err
	}
	defer f.Close()
	files, external, err := scanPart(ctx, f, v.agent.config.Limits)
	if err != nil {
		return err
	}
	v.files[p.Path] = files
	for _, n := range external {
		n.File = path.Join(p.Path, n.File)
		v.todo = append(v.todo, n)
	}
	return nil
}

// external adds the content of one external reference.
func (v *vendoring) external(ctx context.Context, n references.External) error {
	if err := v.problem(n); err != nil {
		return err
	}
	present, err := v.present(ctx, n)
	if err != nil || present {
		return err
	}
	w := Wanted{Kind: record.Git, URL: n.URL, Ref: n.Ref, Folder: n.Folder, Options: record.SourceOptions{Submodules: n.Submodules, Bare: true}}
	if n.Kind != references.Base {
		w = chartWanted(n)
	}
	id := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%v", w.Kind, w.URL, w.Ref, w.Folder, w.Options.Submodules)
	if n.Kind == references.Dependency {
		found, err := v.find(ctx, w)
		if err != nil {
			return v.failed(err, "%s: chart %q of %s", v.location(n), n.Name, n.URL)
		}
		return v.add(ctx, record.Part{Path: v.free(path.Join(path.Dir(n.File), "charts", n.Name)), Digest: found.Digest, Recipe: found.Recipe, Within: found.Entry}, false)
	}
	folder, ok := v.seen[id]
	if !ok {
		found, err := v.find(ctx, w)
		if err != nil {
			return v.failed(err, "%s: %q", v.location(n), n.Text)
		}
		at := v.free(path.Join(vendored.Copies, copyName(n, id)))
		folder = path.Join(at, found.Entry)
		v.seen[id] = folder
		if err := v.add(ctx, record.Part{Path: at, Digest: found.Digest, Recipe: found.Recipe}, n.Kind == references.Base); err != nil {
			return err
		}
	}
	if v.out.vendored == nil {
		v.out.vendored = &vendored.Contents{}
	}
	if n.Kind == references.Base {
		v.out.vendored.Bases = append(v.out.vendored.Bases, vendored.Base{Reference: n.Text, Path: folder})
	} else {
		v.out.vendored.Charts = append(v.out.vendored.Charts, vendored.Chart{Repository: n.URL, Name: n.Name, Version: n.Version, Path: folder})
	}
	return nil
}

// problem returns why a reference can never be followed.
func (v *vendoring) problem(n references.External) error {
	if n.Problem == "" {
		return nil
	}
	what := map[references.Kind]string{references.Base: "remote reference", references.Dependency: "chart dependency", references.Inflated: "chart"}[n.Kind]
	return errcode.New(errcode.Unprocessable, "%s: %s %q %s", v.location(n), what, n.Text, n.Problem)
}

// chartWanted says where a chart is: an OCI registry has one repository per chart.
func chartWanted(n references.External) Wanted {
	if rest, ok := strings.CutPrefix(n.URL, "oci://"); ok {
		return Wanted{Kind: record.OCI, URL: "oci://" + strings.Trim(rest, "/") + "/" + n.Name, Ref: n.Version}
	}
	return Wanted{Kind: record.Helm, URL: n.URL, Ref: n.Version, Folder: n.Name}
}

// present reports whether a chart that a kustomization inflates is where Kustomize
// searches first.
func (v *vendoring) present(ctx context.Context, n references.External) (bool, error) {
	if n.Kind != references.Inflated {
		return false, nil
	}
	chart := path.Join(path.Dir(n.File), n.Home, "Chart.yaml")
	for at, files := range v.files {
		if rest, ok := strings.CutPrefix(n.File, at+"/"); ok && rest != "" {
			inside, _ := strings.CutPrefix(chart, at+"/")
			return files[inside], nil
		}
	}
	if strings.HasPrefix(chart, "../") {
		chart = path.Join(v.content.Root, chart)
		if strings.HasPrefix(chart, "../") {
			return false, nil
		}
		return v.reader.Exists(ctx, v.commit, &mirror.Content{}, chart)
	}
	return v.reader.Exists(ctx, v.commit, v.content, chart)
}

// location returns a file and line as the author knows them.
func (v *vendoring) location(n references.External) string {
	file := n.File
	if !strings.HasPrefix(file, vendored.Folder+"/") {
		file = path.Join(v.content.Root, file)
	}
	return fmt.Sprintf("%s:%d", file, n.Line)
}

// failed adds to an error where in this repository the other is referred to.
func (v *vendoring) failed(err error, format string, args ...any) error {
	return elsewhereError{fmt.Errorf(format+": %w", append(args, err)...)}
}

// free returns a path that no part uses yet.
func (v *vendoring) free(p string) string {
	at := p
	for i := 2; v.taken[at]; i++ {
		at = fmt.Sprintf("%s-%d", p, i)
	}
	v.taken[at] = true
	return at
}

var plain = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// copyName returns a readable name for the folder of a copy.
func copyName(n references.External, id string) string {
	name := n.Name
	if name == "" {
		name = strings.TrimSuffix(path.Base(n.URL), ".git")
	}
	sum := sha256.Sum256([]byte(id))
	name = strings.Trim(plain.ReplaceAllString(name, "-"), ".-")
	if len(name) > 40 {
		name = name[:40]
	}
	return strings.ToLower(name) + "-" + hex.EncodeToString(sum[:6])
}

// scanPart lists the files of a part and collects their external references.
func scanPart(ctx context.Context, r io.Reader, limits tarball.Limits) (fileList, []references.External, error) {
	files, texts := fileList{}, map[string][]byte{}
	for e, err := range tarball.Read(ctx, r, limits) {
		if err != nil {
			return nil, nil, err
		}
		files[e.Path] = true
		name := path.Base(e.Path)
		if e.Type == digest.Link || e.Size > 1<<20 || !references.IsKustomization(name) && !chartFile[name] {
			continue
		}
		raw, err := io.ReadAll(e.Body)
		if err != nil {
			return nil, nil, err
		}
		texts[e.Path] = raw
	}
	return files, externalOf(files, texts), nil
}

var chartFile = map[string]bool{"Chart.yaml": true, "Chart.lock": true, "requirements.yaml": true, "requirements.lock": true}

func externalOf(files fileList, texts map[string][]byte) (out []references.External) {
	for _, p := range sorted(texts) {
		dir, name := path.Split(p)
		var external []references.External
		switch {
		case references.IsKustomization(name):
			_, external = references.Kustomization(texts[p])
		case strings.HasSuffix(name, ".yaml") && !subchart(files, p):
			_, all := references.Chart(texts[p], texts[dir+strings.TrimSuffix(name, ".yaml")+".lock"])
			for _, n := range all {
				if !hasChart(files, dir+"charts/", n.Name) {
					external = append(external, n)
				}
			}
		}
		for _, n := range external {
			n.File = p
			out = append(out, n)
		}
	}
	return out
}

// subchart reports whether a file belongs to a chart inside another.
func subchart(files fileList, p string) bool {
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if path.Base(dir) == "charts" && files[path.Join(path.Dir(dir), "Chart.yaml")] {
			return true
		}
	}
	return false
}

// hasChart reports whether a charts folder holds a chart of that name.
func hasChart(files fileList, charts, name string) bool {
	for f := range files {
		if rest, ok := strings.CutPrefix(f, charts+name); ok && rest != "" && (rest[0] == '/' || rest[0] == '-' && (strings.HasSuffix(rest, ".tgz") || strings.Contains(rest, "/"))) {
			return true
		}
	}
	return false
}
