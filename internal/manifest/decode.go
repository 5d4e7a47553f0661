package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// MaxFileBytes is the largest text that is decoded. The largest published bundles of
// CRDs have a few MB, and decoding takes about 20 times the size of a text in memory.
const MaxFileBytes = 16 << 20

// Decode decodes all documents of a text. Warnings are about things that were
// accepted but are probably not what the author meant.
func Decode(source string, text []byte) (objects []Object, warnings []string, err error) {
	return DecodeBelow(source, 0, text)
}

// DecodeBelow is Decode for a part of a text that has above lines before it.
func DecodeBelow(source string, above int, text []byte) (objects []Object, warnings []string, err error) {
	if len(text) > MaxFileBytes {
		return nil, nil, &Error{File: source, Message: fmt.Sprintf(
			"%d bytes of manifests, at most %d are decoded; split the file", len(text), MaxFileBytes)}
	}
	d := decoder{source: source}
	for _, doc := range split(text) {
		doc.line += above
		if err := d.document(doc); err != nil {
			return nil, nil, err
		}
	}
	return d.objects, d.warnings, nil
}

// decoder collects the objects of one text.
type decoder struct {
	source   string
	objects  []Object
	warnings []string
}

func (d *decoder) fail(line int, format string, args ...any) error {
	return &Error{File: d.source, Line: line, Message: fmt.Sprintf(format, args...)}
}

func (d *decoder) warn(line int, format string, args ...any) {
	place := &Error{File: d.source, Line: line, Message: fmt.Sprintf(format, args...)}
	d.warnings = append(d.warnings, place.Error())
}

// document decodes one YAML document; one that starts with a brace may also be
// several JSON objects in a row.
func (d *decoder) document(doc document) error {
	line := doc.line + doc.lead()
	if trimmed := bytes.TrimSpace(doc.text); len(trimmed) > 0 && trimmed[0] == '{' {
		if values, ok := jsonValues(trimmed); ok {
			for _, v := range values {
				if err := d.value(v, line); err != nil {
					return err
				}
			}
			return nil
		}
	}
	value, duplicate, err := parse(doc.text)
	if err != nil {
		at, message := Place(err)
		// An error at the end of the text belongs to its last line.
		at = min(at, max(bytes.Count(doc.text, []byte("\n")), 1))
		return d.fail(doc.line+max(at-1, 0), "invalid YAML: %s", message)
	}
	if duplicate != "" {
		d.warn(line, "%s; the last one counts", duplicate)
	}
	return d.value(value, line)
}

// value adds an object, the items of a list, or nothing.
func (d *decoder) value(value any, line int) error {
	if value == nil {
		return nil
	}
	data, ok := value.(map[string]any)
	if !ok {
		return d.fail(line, "the document is not an object; a manifest has apiVersion, kind and metadata")
	}
	apiVersion, _ := data["apiVersion"].(string)
	kind, _ := data["kind"].(string)
	switch {
	case len(data) == 0:
		return nil
	case apiVersion == "" && kind == "":
		place := Error{File: d.source, Line: line, Message: "not a manifest, it has neither apiVersion nor kind"}
		d.warnings = append(d.warnings, LeftOut("%s", place.Error()))
		return nil
	case apiVersion == "" || kind == "":
		return d.fail(line, "the manifest needs both apiVersion and kind")
	}
	metadata, _ := data["metadata"].(map[string]any)
	items, listed := data["items"]
	of, ok := items.([]any)
	switch list := kind == "List" && apiVersion == "v1"; {
	case !strings.HasSuffix(kind, "List"):
	case list && items != nil && !ok:
		return d.fail(line, "the List's items must be a list of objects")
	case ok && (len(of) > 0 || !list):
		return d.items(of, line)
	case list || listed && items == nil && metadata["name"] == nil:
		d.warn(line, "the %s's items are empty: it has no objects", kind)
		return nil
	}
	for _, field := range []string{"name", "generateName", "namespace"} {
		if _, text := metadata[field].(string); !text && metadata[field] != nil {
			return d.fail(line, "metadata.%s of the %s must be text: write it in quotes", field, kind)
		}
	}
	object := Object{Data: data, Source: d.source, Line: line}
	switch key := object.Key(""); {
	case key.Name == "":
		return d.fail(line, "the %s needs metadata.name", kind)
	case key.Generated() && !object.Runs():
		return d.fail(line, "the %s needs metadata.name: metadata.generateName is allowed only for hooks, tests, Jobs and Pods, which may differ each time", kind)
	}
	d.objects = append(d.objects, object)
	return nil
}

// items adds the objects of a list.
func (d *decoder) items(items []any, line int) error {
	for _, item := range items {
		if err := d.value(item, line); err != nil {
			return err
		}
	}
	return nil
}

// parse converts one YAML document to decoded JSON. If a key is set twice, it reports
// that and uses the last value, as other tools do.
func parse(text []byte) (value any, duplicate string, err error) {
	if value, ok := direct(text); ok {
		return value, "", nil
	}
	encoded, err := yaml.YAMLToJSONStrict(text)
	if err != nil && strings.Contains(err.Error(), "already set in map") {
		if _, duplicate = Place(err); bytes.Contains(text, []byte("<<")) && !twice(text) {
			duplicate = ""
		}
		encoded, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		return nil, "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, "", err
	}
	return value, duplicate, nil
}

// twice reports whether a mapping sets a key twice. A key beside a merge key that brings the
// same one overrides it, as YAML has it; the strict parser counts that as twice.
func twice(text []byte) bool {
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) != nil {
		return true
	}
	for open := []*yamlv3.Node{&root}; len(open) > 0; {
		n := open[len(open)-1]
		open = append(open[:len(open)-1], n.Content...)
		keys := map[string]bool{}
		for i := 0; n.Kind == yamlv3.MappingNode && i < len(n.Content); i += 2 {
			if n.Content[i].Kind != yamlv3.ScalarNode {
				continue
			}
			name := n.Content[i].Tag + " " + n.Content[i].Value
			if keys[name] {
				return true
			}
			keys[name] = true
		}
	}
	return false
}

// jsonValues decodes JSON objects in a row; false if the text is something else.
func jsonValues(text []byte) ([]any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var values []any
	for {
		var value map[string]any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values, true
		}
		if err != nil {
			return nil, false
		}
		values = append(values, value)
	}
}

var (
	lineInError = regexp.MustCompile(`line (\d+): `)
	// parserError matches the errors whose line the YAML library counts from 0; those
	// of its scanner are counted from 1.
	parserError = regexp.MustCompile(`^did not find expected (?:<|node content|'-' indicator|key\b|',' or)`)
)

// Place extracts the line, from 1, from an error of the YAML libraries, and returns
// the rest as a message. The line is zero if the error has none, which is also the
// case for the first line.
func Place(err error) (line int, message string) {
	message = err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:\n", "construct errors:\n"} {
		message = strings.TrimPrefix(message, prefix)
	}
	message = strings.TrimSpace(message)
	found := lineInError.FindStringSubmatchIndex(message)
	if found == nil {
		return 0, message
	}
	line, _ = strconv.Atoi(message[found[2]:found[3]])
	message, _, _ = strings.Cut(message[:found[0]]+message[found[1]:], "\n")
	message = strings.TrimPrefix(message, "yaml: ")
	if parserError.MatchString(message) {
		line++
	}
	return line, message
}
