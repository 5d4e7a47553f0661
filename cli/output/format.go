package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/template"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/plain"
)

// The formats of -o. JSONPath and GoTemplate are followed by their text.
const (
	Table      = "table"
	WideTable  = "wide"
	JSON       = "json"
	YAML       = "yaml"
	Name       = "name"
	CSV        = "csv"
	JSONPath   = "jsonpath="
	GoTemplate = "go-template="
)

// Formats are the formats in the order in which help names them.
var Formats = []string{Table, WideTable, JSON, YAML, CSV, Name, JSONPath, GoTemplate}

// Human reports whether a format is for people.
func Human(format string) bool { return format == Table || format == WideTable }

// Data reports whether a format shows the whole value, for programs.
func Data(format string) bool { return !Human(format) && format != Name && format != CSV }

// Check returns why a format cannot be used, or nil. A template is parsed, so
// that a mistake in it is found before anything is done.
func Check(format string) error {
	if Human(format) || format == Name || format == CSV || format == JSON || format == YAML {
		return nil
	}
	_, err := templateOf(format)
	return err
}

// Write encodes a value. The format is one for which Data is true.
func Write(to io.Writer, format string, v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // keep < and > readable: Ann <ann@example.com>
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	data := plain.JSON(text.Bytes())
	switch format {
	case JSON:
	case YAML:
		var err error
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
	default:
		var err error
		if data, err = fill(format, text.Bytes()); err != nil {
			return err
		}
	}
	_, err := to.Write(data)
	return err
}

// filler fills a template with a value of maps, slices, texts and numbers.
type filler interface {
	Execute(to io.Writer, data any) error
}

// line writes a value as JSON on one line.
func line(to io.Writer, _ string, v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := to.Write(plain.JSON(text.Bytes()))
	return err
}

func templateOf(format string) (filler, error) {
	if text, ok := strings.CutPrefix(format, JSONPath); ok {
		path := jsonpath.New("output").AllowMissingKeys(true)
		if err := path.Parse(relaxed(text)); err != nil {
			return nil, fmt.Errorf("-o %s: %w; it is written as kubectl's, such as jsonpath='{.name}', and '{[*].name}' for a list", format, err)
		}
		return path, nil
	}
	if text, ok := strings.CutPrefix(format, GoTemplate); ok {
		parsed, err := template.New("output").Parse(text)
		if err != nil {
			return nil, fmt.Errorf("-o %s: %w; it is written as Go's text/template, such as go-template='{{.name}}'", format, err)
		}
		return parsed, nil
	}
	return nil, fmt.Errorf("-o %s is not table, wide, json, yaml, csv, name, jsonpath=TEMPLATE or go-template=TEMPLATE", format)
}

// relaxed adds what kubectl also lets its users leave out: the braces, and the
// dot before the first name.
func relaxed(text string) string {
	switch {
	case strings.Contains(text, "{") || text == "":
		return text
	case strings.ContainsAny(text[:1], ".[$"):
		return "{" + text + "}"
	}
	return "{." + text + "}"
}

// fill returns the filled template, on lines of its own.
func fill(format string, data []byte) ([]byte, error) {
	to, err := templateOf(format)
	if err != nil {
		return nil, err
	}
	// Whole numbers stay whole: 1000000 is not 1e+06, and compares with 1.
	var v any
	if err := utiljson.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := to.Execute(&out, v); err != nil {
		return nil, fmt.Errorf("-o %s: %w", format, err)
	}
	if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}
