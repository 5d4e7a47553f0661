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

	"github.com/axle-cd/axle/hub/gitcache/mention"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
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
	commit  upstream.Commit
	content *upstream.Content
	reader  *upstream.Reader

	out   gathered
	seen  map[string]string   // identity of a need to the folder of its copy
	taken map[string]bool     // places in use
	files map[string]fileList // of parts, by their path
	todo  []mention.Need
}

// fileList are the paths of one part.
type fileList map[string]bool

// gather finds all content of other repositories: submodules at their paths,
// charts and bases, and what those need in turn.
func (a *Agent) gather(ctx context.Context, reader *upstream.Reader, s record.Source, c upstream.Commit, content *upstream.Content) (gathered, error) {
	if s.Options.LFS {
		if err := a.fetchLFS(ctx, reader, content); err != nil {
			return gathered{}, elsewhereError{err}
		}
	}
	v := &vendoring{agent: a, source: s, commit: c, content: content, reader: reader,
		seen: map[string]string{}, taken: map[string]bool{}, files: map[string]fileList{}, todo: content.Needs}
	for _, n := range content.Needs {
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
		if err := v.need(ctx, n); err != nil {
			return gathered{}, err
		}
	}
	return v.out, nil
}

// submodule puts the content of a submodule at its path.
func (v *vendoring) submodule(ctx context.Context, l upstream.Link) error {
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
// further needs.
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
	files, needs, err := scanPart(ctx, f, v.agent.config.Limits)
	if err != nil {
		return err
	}
	v.files[p.Path] = files
	for _, n := range needs {
		n.File = path.Join(p.Path, n.File)
		v.todo = append(v.todo, n)
	}
	return nil
}

// need adds one item that a file refers to.
func (v *vendoring) need(ctx context.Context, n mention.Need) error {
	if err := v.problem(n); err != nil {
		return err
	}
	there, err := v.lies(ctx, n)
	if err != nil || there {
		return err
	}
	w := Wanted{Kind: record.Git, URL: n.URL, Ref: n.Ref, Folder: n.Folder, Options: record.SourceOptions{Submodules: n.Submodules, Bare: true}}
	if n.Kind != mention.Base {
		w = chartWanted(n)
	}
	id := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%v", w.Kind, w.URL, w.Ref, w.Folder, w.Options.Submodules)
	if n.Kind == mention.Dependency {
		found, err := v.find(ctx, w)
		if err != nil {
			return v.failed(err, "%s: chart %q of %s", v.place(n), n.Name, n.URL)
		}
		return v.add(ctx, record.Part{Path: v.free(path.Join(path.Dir(n.File), "charts", n.Name)), Digest: found.Digest, Recipe: found.Recipe, Within: found.Entry}, false)
	}
	folder, ok := v.seen[id]
	if !ok {
		found, err := v.find(ctx, w)
		if err != nil {
			return v.failed(err, "%s: %q", v.place(n), n.Text)
		}
		at := v.free(path.Join(vendored.Copies, copyName(n, id)))
		folder = path.Join(at, found.Entry)
		v.seen[id] = folder
		if err := v.add(ctx, record.Part{Path: at, Digest: found.Digest, Recipe: found.Recipe}, n.Kind == mention.Base); err != nil {
			return err
		}
	}
	if v.out.vendored == nil {
		v.out.vendored = &vendored.Contents{}
	}
	if n.Kind == mention.Base {
		v.out.vendored.Bases = append(v.out.vendored.Bases, vendored.Base{Reference: n.Text, Path: folder})
	} else {
		v.out.vendored.Charts = append(v.out.vendored.Charts, vendored.Chart{Repository: n.URL, Name: n.Name, Version: n.Version, Path: folder})
	}
	return nil
}

// problem returns why a need can never be met.
func (v *vendoring) problem(n mention.Need) error {
	if n.Problem == "" {
		return nil
	}
	what := map[mention.Kind]string{mention.Base: "remote reference", mention.Dependency: "chart dependency", mention.Inflated: "chart"}[n.Kind]
	return errcode.New(errcode.Unprocessable, "%s: %s %q %s", v.place(n), what, n.Text, n.Problem)
}

// chartWanted says where a chart is: an OCI registry has one repository per chart.
func chartWanted(n mention.Need) Wanted {
	if rest, ok := strings.CutPrefix(n.URL, "oci://"); ok {
		return Wanted{Kind: record.OCI, URL: "oci://" + strings.Trim(rest, "/") + "/" + n.Name, Ref: n.Version}
	}
	return Wanted{Kind: record.Helm, URL: n.URL, Ref: n.Version, Folder: n.Name}
}

// lies reports whether a chart that a kustomization inflates is where Kustomize
// searches first.
func (v *vendoring) lies(ctx context.Context, n mention.Need) (bool, error) {
	if n.Kind != mention.Inflated {
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
		return v.reader.Exists(ctx, v.commit, &upstream.Content{}, chart)
	}
	return v.reader.Exists(ctx, v.commit, v.content, chart)
}

// place returns a file and line as the author knows them.
func (v *vendoring) place(n mention.Need) string {
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
func copyName(n mention.Need, id string) string {
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

// scanPart lists the files of a part and collects what they need.
func scanPart(ctx context.Context, r io.Reader, limits tarball.Limits) (fileList, []mention.Need, error) {
	files, texts := fileList{}, map[string][]byte{}
	for e, err := range tarball.Read(ctx, r, limits) {
		if err != nil {
			return nil, nil, err
		}
		files[e.Path] = true
		name := path.Base(e.Path)
		if e.Type == digest.Link || e.Size > 1<<20 || !mention.IsKustomization(name) && !chartFile[name] {
			continue
		}
		raw, err := io.ReadAll(e.Body)
		if err != nil {
			return nil, nil, err
		}
		texts[e.Path] = raw
	}
	return files, needsOf(files, texts), nil
}

var chartFile = map[string]bool{"Chart.yaml": true, "Chart.lock": true, "requirements.yaml": true, "requirements.lock": true}

func needsOf(files fileList, texts map[string][]byte) (out []mention.Need) {
	for _, p := range sorted(texts) {
		dir, name := path.Split(p)
		var needs []mention.Need
		switch {
		case mention.IsKustomization(name):
			_, needs = mention.Kustomization(texts[p])
		case strings.HasSuffix(name, ".yaml") && !subchart(files, p):
			_, all := mention.Chart(texts[p], texts[dir+strings.TrimSuffix(name, ".yaml")+".lock"])
			for _, n := range all {
				if !lies(files, dir+"charts/", n.Name) {
					needs = append(needs, n)
				}
			}
		}
		for _, n := range needs {
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

// lies reports whether a charts folder holds a chart of that name.
func lies(files fileList, charts, name string) bool {
	for f := range files {
		if rest, ok := strings.CutPrefix(f, charts+name); ok && rest != "" && (rest[0] == '/' || rest[0] == '-' && (strings.HasSuffix(rest, ".tgz") || strings.Contains(rest, "/"))) {
			return true
		}
	}
	return false
}
