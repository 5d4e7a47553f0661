package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
)

// inlineName is the name of the service's inline values in errors.
const inlineName = "the service's helm.values"

// secretName is the name of the values that are a secret of the service.
const secretName = "the service's secret helm.valuesFrom"

// valuesText is one source of values, rendered and not yet decoded.
type valuesText struct {
	name string
	text []byte
	// secret is set for a text that no error may quote.
	secret bool
	// generates is set for a template whose output may differ each time.
	generates bool
}

// valuesTexts returns the values that override the chart's own, lowest precedence
// first.
func (r Request) valuesTexts() ([]valuesText, error) {
	var texts []valuesText
	if file := path.Join(r.Dir, "values.yaml.liquid"); r.Liquid != nil && r.Tree.IsFile(file) {
		text, err := r.valuesFile(file)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	made, err := r.runLua()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(r.ValuesFiles, made.files) {
		file, err := r.findValues(name)
		if err != nil {
			return nil, err
		}
		text, err := r.valuesFile(file)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if strings.TrimSpace(r.Values) != "" {
		texts = append(texts, valuesText{name: inlineName, text: []byte(r.Values)})
	}
	if r.SecretValues != "" {
		texts = append(texts, valuesText{name: secretName, text: []byte(r.SecretValues), secret: true})
	}
	if len(made.values) > 0 {
		text, err := json.Marshal(made.values)
		if err != nil {
			return nil, luaError(luaName, err)
		}
		texts = append(texts, valuesText{name: "the values of the service's Lua scripts", text: text})
	}
	return texts, nil
}

// findValues looks in the chart's folder, then in the other roots, or the other way
// round.
func (r Request) findValues(name string) (string, error) {
	for _, root := range r.roots() {
		if file := path.Join(root, name); r.Tree.IsFile(file) {
			return file, nil
		}
	}
	return "", &manifest.Error{File: path.Join(r.Dir, name), Message: "the values file does not exist at this revision; its path is relative to the chart or to the service's folder"}
}

// roots are the folders where the service's own files are looked up.
func (r Request) roots() []string {
	if r.RootsFirst {
		return append(slices.Clone(r.Roots), r.Dir)
	}
	return append([]string{r.Dir}, r.Roots...)
}

// valuesFile reads a file and renders it if it is a template.
func (r Request) valuesFile(file string) (valuesText, error) {
	text, err := r.Tree.Read(file)
	if err != nil || r.Liquid == nil {
		return valuesText{name: file, text: text}, err
	}
	switch path.Ext(file) {
	case ".tpl":
		rendered, err := r.goTemplate(file, text)
		return valuesText{name: file, text: rendered, generates: generator(text)}, err
	case ".liquid":
		rendered, err := r.Liquid.Render(text)
		var bad *liquid.Error
		if errors.As(err, &bad) {
			err = &manifest.Error{File: file, Line: bad.Line, Message: bad.Message}
		}
		return valuesText{name: file, text: rendered}, err
	}
	return valuesText{name: file, text: text}, nil
}

// mergeValues merges the texts: maps are merged, everything else is replaced, and a
// null removes the chart's own value.
func mergeValues(texts []valuesText) (map[string]any, error) {
	values := map[string]any{}
	for _, t := range texts {
		over, err := loader.LoadValues(bytes.NewReader(t.text))
		if err != nil && t.secret {
			err = errors.New("they are no YAML map")
		}
		if err != nil {
			return nil, valuesError(t.name, err)
		}
		values = loader.MergeMaps(values, over)
	}
	return values, nil
}

// valuesError adds the position to the decoder's error.
func valuesError(name string, err error) error {
	line, message := manifest.Place(err)
	return &manifest.Error{File: name, Line: line, Message: "invalid values: " + message}
}
