package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/manifest"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Names are the file names of a kustomization.
var Names = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// referring are the fields whose entries name files or folders.
var referring = map[string]bool{
	"resources": true, "bases": true, "components": true, "generators": true,
	"transformers": true, "validators": true, "configurations": true, "crds": true,
}

// inflating are the fields that would fetch a chart and run helm.
var inflating = map[string]bool{"helmCharts": true, "helmChartInflationGenerator": true}

// checker walks the kustomizations that a build will load, so that unsupported
// references are reported with their position and not as a failed clone. Where a
// kustomization names something that the hub vendored, the build gets a text that
// names the copy; the tree is not changed.
type checker struct {
	request Request
	tree    *source
	copies  copies
	// texts replace those of kustomizations; added are additional files.
	texts map[string][]byte
	added map[string][]byte
	seen  map[string]bool
	// file is the first kustomization, used as the objects' source.
	file string
	// generates is set when an inflated chart generates values.
	generates bool
	// warnings name the fields that stand twice in a kustomization.
	warnings []string
	// schema is set if a kustomization has its own schema.
	schema bool
}

// folder checks the kustomization in a folder. from is the position of the reference.
func (c *checker) folder(dir string, from manifest.Error) error {
	if c.seen[dir] {
		return nil
	}
	c.seen[dir] = true
	file := ""
	for _, name := range Names {
		if !c.tree.IsFile(path.Join(dir, name)) {
			continue
		}
		if file != "" {
			return &manifest.Error{File: dir, Message: "more than one kustomization file in the folder; keep one"}
		}
		file = path.Join(dir, name)
	}
	if file == "" {
		from.Message = fmt.Sprintf("the folder %q has no kustomization.yaml", dir)
		return &from
	}
	if c.file == "" {
		c.file = file
	}
	text, err := c.tree.Read(file)
	if err != nil {
		return err
	}
	return c.text(dir, file, text)
}

// text checks one kustomization's text.
func (c *checker) text(dir, file string, text []byte) error {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return &manifest.Error{File: file, Message: "the kustomization is empty"}
		}
		line, message := manifest.Place(err)
		return &manifest.Error{File: file, Line: max(line, 1), Message: "invalid YAML: " + message}
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return &manifest.Error{File: file, Line: 1, Message: "the kustomization is not an object"}
	}
	changed := false
	fields := doc.Content[0].Content
	first := map[string]int{}
	for i := 0; i+1 < len(fields); i += 2 {
		// Kustomize takes the last one without a word.
		if line, twice := first[fields[i].Value]; twice {
			c.warnings = append(c.warnings, manifest.LeftOut("%s:%d: the field %s stands here again; as with kustomize, the one of line %d is left out", file, fields[i].Line, fields[i].Value, line))
		}
		first[fields[i].Value] = fields[i].Line
		rewrote, err := c.field(dir, file, fields[i], fields[i+1])
		if err != nil {
			return err
		}
		changed = changed || rewrote
	}
	inflated, err := c.inflate(dir, file, doc.Content[0])
	if err != nil {
		return err
	}
	if changed = c.addRendered(dir, doc.Content[0]) || changed || inflated; !changed {
		return nil
	}
	rewritten, err := yaml.Marshal(&doc)
	if err != nil {
		return &manifest.Error{File: file, Message: fmt.Sprintf("cannot rewrite the kustomization: %v", err)}
	}
	c.texts[file] = rewritten
	return nil
}

// field checks one field, and reports whether its references now name copies.
func (c *checker) field(dir, file string, name, value *yaml.Node) (rewrote bool, err error) {
	if fields, ok := fileFields[name.Value]; ok {
		c.schema = c.schema || name.Value == "openapi"
		return false, c.named(dir, file, value, fields, len(fields) == 0)
	}
	switch {
	case inflating[name.Value] && len(value.Content) > 0 && !c.request.EnableHelm:
		return false, &manifest.Error{File: file, Line: name.Line, Message: fmt.Sprintf(
			"%s is off; set kustomize.enableHelm of the service to have the charts inflated", name.Value)}
	case referring[name.Value]:
		for _, entry := range value.Content {
			at := manifest.Error{File: file, Line: entry.Line}
			if local, ok := c.copies.base(dir, entry.Value); ok {
				if err := c.entry(local, at, name.Value, "."); err != nil {
					return false, err
				}
				entry.Value, rewrote = relative(dir, local), true
				continue
			}
			if made, ok := strings.CutSuffix(entry.Value, suffix); ok && c.tree.template(path.Join(dir, made)) {
				entry.Value, rewrote = made, true
			}
			if err := c.entry(dir, at, name.Value, entry.Value); err != nil {
				return false, err
			}
		}
	}
	return rewrote, nil
}

// entry checks one reference: a file, a folder with a kustomization, or text.
func (c *checker) entry(dir string, at manifest.Error, field, reference string) error {
	if reference == "" || strings.Contains(reference, "\n") {
		return nil
	}
	local := path.Join(dir, reference)
	switch {
	case !path.IsAbs(reference) && !escapes(local) && c.tree.IsFile(local):
		_, err := c.tree.Read(local)
		return err
	case !path.IsAbs(reference) && !escapes(local) && c.tree.IsDir(local):
		return c.folder(local, at)
	case remote(reference):
		at.Message = remoteText(reference)
	case path.IsAbs(reference) || escapes(local):
		at.Message = outside(reference)
	case c.request.Tree.Why(local) != "":
		at.Message = fmt.Sprintf("%s names %q: %s", field, reference, c.request.Tree.Why(local))
	default:
		at.Message = fmt.Sprintf("%s names %q, which does not exist at this revision", field, reference)
	}
	return &at
}

func remoteText(reference string) string {
	return fmt.Sprintf("the remote reference %q cannot be used: rendering has no network, and the hub has no copy of it; pin it to a tag or commit, or copy it into the repository", reference)
}

func outside(reference string) string {
	return fmt.Sprintf("%q is outside the service's files; copy it into the repository, or, if a template of the kustomization names it, list it in git.files of the service", reference)
}

// fileFields are the fields of a kustomization with names of single files, and below
// which of their fields these are; none is the entries themselves.
var fileFields = map[string][]string{
	"configMapGenerator": {"files", "envs", "env"}, "secretGenerator": {"files", "envs", "env"}, "openapi": {"path"},
	"patches": {"path"}, "patchesJson6902": {"path"}, "replacements": {"path"}, "patchesStrategicMerge": {},
}

// named checks the files that one field names; own says that this value does.
func (c *checker) named(dir, file string, value *yaml.Node, fields []string, own bool) error {
	if value.Kind == yaml.ScalarNode && own {
		return c.single(dir, manifest.Error{File: file, Line: value.Line}, value.Value)
	}
	for i, inner := range value.Content {
		if value.Kind == yaml.MappingNode {
			own = i%2 == 1 && slices.Contains(fields, value.Content[i-1].Value)
		}
		if err := c.named(dir, file, inner, fields, own); err != nil {
			return err
		}
	}
	return nil
}

// single checks the name of one file, or of one with its key before it.
func (c *checker) single(dir string, at manifest.Error, reference string) error {
	if key, after, ok := strings.Cut(reference, "="); ok && !strings.Contains(key, "/") {
		reference = after
	}
	local := path.Join(dir, reference)
	away := path.IsAbs(reference) || escapes(local)
	switch {
	case reference == "", strings.Contains(reference, "\n"), !away && c.tree.IsFile(local):
		return nil
	case remote(reference):
		at.Message = remoteText(reference)
	case away:
		at.Message = outside(reference)
	case c.request.Tree.Why(local) != "":
		at.Message = fmt.Sprintf("%q: %s", reference, c.request.Tree.Why(local))
	default:
		return nil // the library reports it, if it reads it
	}
	return &at
}

func escapes(clean string) bool { return clean == ".." || strings.HasPrefix(clean, "../") }

var hostFirst = regexp.MustCompile(`^(?:[\w.-]+@)?[\w-]+(?:\.[\w-]+)+(?::\d+)?[:/].`)

// remote reports whether Kustomize would fetch a reference.
func remote(reference string) bool {
	if strings.Contains(reference, "://") || strings.Contains(reference, "git::") || strings.Contains(reference, "?ref=") {
		return true
	}
	return !strings.HasPrefix(reference, ".") && hostFirst.MatchString(reference)
}
