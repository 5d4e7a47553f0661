package kustomize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strconv"

	"github.com/axle-cd/axle/internal/manifest"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// renderedFile is where a post-render kustomization finds the rendered objects.
	renderedFile = ".rendered.yaml"
	// mark links a changed object to the original; it is removed from the output.
	mark = "internal.axle-cd.github.io/rendered"
)

// Change builds a kustomization with the given objects as its last resource, so that
// it changes another renderer's output. An object keeps its source, whether it is a
// chart's CRD, and which of its values are generated. The given objects must not be
// used afterwards.
func Change(r Request, objects []manifest.Object) (changed []manifest.Object, warnings []string, err error) {
	generates := generated(objects)
	changed, warnings, err = r.change(objects, generates)
	if err != nil || !generates {
		return changed, warnings, err
	}
	// A patch may move a generated value, or use it in a name: build again with other
	// values; what then differs is generated.
	others, err := otherwise(objects)
	if err != nil {
		return nil, nil, err
	}
	again, _, err := r.change(others, false)
	if err != nil {
		return nil, nil, err
	}
	return changed, warnings, manifest.MarkVolatile(changed, again)
}

func (r Request) change(objects []manifest.Object, keep bool) ([]manifest.Object, []string, error) {
	var text bytes.Buffer
	for i := range objects {
		encoded, err := json.Marshal(marked(objects[i].Data, i))
		if err != nil {
			return nil, nil, fmt.Errorf("encode %s: %w", objects[i].Key(""), err)
		}
		text.WriteString("---\n")
		text.Write(encoded)
		text.WriteByte('\n')
		if !keep {
			// They are in the text now, and the build needs the memory.
			objects[i].Data = nil
		}
	}
	r.rendered = text.Bytes()
	changed, warnings, err := Render(r)
	if err != nil {
		return nil, nil, err
	}
	for i := range changed {
		from, ok := unmark(changed[i].Data)
		if ok && from < len(objects) {
			changed[i].Source, changed[i].CRD = objects[from].Source, objects[from].CRD
		}
	}
	return changed, warnings, nil
}

// addRendered adds the objects to the resources of the kustomization.
func (c *checker) addRendered(dir string, doc *yaml.Node) bool {
	if c.request.rendered == nil || dir != path.Clean(c.request.Dir) {
		return false
	}
	if len(c.request.rendered) > 0 {
		c.added[path.Join(dir, renderedFile)] = c.request.rendered
		addResources(doc, []string{renderedFile})
	}
	return true
}

// marked returns a copy of an object that carries its index.
func marked(data map[string]any, i int) map[string]any {
	out := maps.Clone(data)
	metadata, _ := data["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[mark] = strconv.Itoa(i)
	metadata["annotations"], out["metadata"] = annotations, metadata
	return out
}

// unmark removes the mark and returns the object's index.
func unmark(data map[string]any) (int, bool) {
	metadata, _ := data["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, _ := annotations[mark].(string)
	i, err := strconv.Atoi(text)
	if err != nil {
		return 0, false
	}
	if delete(annotations, mark); len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return i, i >= 0
}

func generated(objects []manifest.Object) bool {
	for i := range objects {
		if len(objects[i].Volatile) > 0 {
			return true
		}
	}
	return false
}

// otherwise copies objects with different values where theirs are generated.
func otherwise(objects []manifest.Object) ([]manifest.Object, error) {
	out := make([]manifest.Object, len(objects))
	for i := range objects {
		out[i] = objects[i]
		if len(objects[i].Volatile) == 0 {
			continue
		}
		encoded, err := objects[i].JSON()
		if err != nil {
			return nil, err
		}
		decoder := json.NewDecoder(bytes.NewReader(encoded))
		decoder.UseNumber()
		var data map[string]any
		if err := decoder.Decode(&data); err != nil {
			return nil, err
		}
		for _, pointer := range objects[i].Volatile {
			replace(data, pointer)
		}
		out[i].Data = data
	}
	return out, nil
}
