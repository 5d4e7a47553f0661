package helm

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
)

// inlineName is how the service's inline values are called in errors.
const inlineName = "the service's helm.values"

// valuesText is one source of values, rendered and not yet decoded.
type valuesText struct {
	name string
	text []byte
}

// valuesTexts reads what is laid over the chart's own values, lowest first.
func (r Request) valuesTexts() ([]valuesText, error) {
	var texts []valuesText
	if file := path.Join(r.Dir, "values.yaml.liquid"); r.Liquid != nil && r.Tree.IsFile(file) {
		text, err := r.valuesFile(file)
		if err != nil {
			return nil, err
		}
		texts = append(texts, valuesText{file, text})
	}
	for _, name := range r.ValuesFiles {
		file, err := r.findValues(name)
		if err != nil {
			return nil, err
		}
		text, err := r.valuesFile(file)
		if err != nil {
			return nil, err
		}
		texts = append(texts, valuesText{file, text})
	}
	if strings.TrimSpace(r.Values) != "" {
		texts = append(texts, valuesText{inlineName, []byte(r.Values)})
	}
	return texts, nil
}

// findValues looks beside the chart, then in the other roots, or the other way
// round.
func (r Request) findValues(name string) (string, error) {
	roots := append([]string{r.Dir}, r.Roots...)
	if r.RootsFirst {
		roots = append(slices.Clone(r.Roots), r.Dir)
	}
	for _, root := range roots {
		if file := path.Join(root, name); r.Tree.IsFile(file) {
			return file, nil
		}
	}
	return "", &manifest.Error{File: path.Join(r.Dir, name), Message: "the values file does not exist at this revision; its path is relative to the chart or to the service's folder"}
}

func (r Request) valuesFile(file string) ([]byte, error) {
	text, err := r.Tree.Read(file)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(file, ".tpl"):
		return nil, &manifest.Error{File: file, Message: "values files in Go templates (.tpl) are not supported yet; use .liquid"}
	case strings.HasSuffix(file, ".liquid") && r.Liquid != nil:
		rendered, err := r.Liquid.Render(text)
		var bad *liquid.Error
		if errors.As(err, &bad) {
			return nil, &manifest.Error{File: file, Line: bad.Line, Message: bad.Message}
		}
		return rendered, err
	}
	return text, nil
}

// mergeValues lays the texts over each other: maps are merged, everything else
// is replaced, and a null takes the chart's own value away.
func mergeValues(texts []valuesText) (map[string]any, error) {
	values := map[string]any{}
	for _, t := range texts {
		over, err := loader.LoadValues(bytes.NewReader(t.text))
		if err != nil {
			return nil, valuesError(t.name, err)
		}
		values = loader.MergeMaps(values, over)
	}
	return values, nil
}

// valuesError places what the decoder said.
func valuesError(name string, err error) error {
	line, message := manifest.Place(err)
	return &manifest.Error{File: name, Line: line, Message: "invalid values: " + message}
}
